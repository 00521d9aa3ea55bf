//! The book builds, has every page, and its links are valid.

use std::path::{Path, PathBuf};

use superpose_book::{build, links, root};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn book_builds_with_valid_links() {
    let out = tempfile::tempdir().unwrap();
    build(&root(), out.path()).unwrap();
    let faults = links::faults(out.path()).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // mdBook silently skips pages that the summary does not list.
    let (docs, mut found) = (root().join("docs"), Vec::new());
    pages(&docs, &mut found);
    for page in found {
        let page = page.strip_prefix(&docs).unwrap();
        if page != Path::new("SUMMARY.md") {
            let built = out.path().join(page).with_extension("html");
            assert!(built.exists(), "docs/{} is not in docs/SUMMARY.md", page.display());
        }
    }
}

#[test]
fn formulas_are_typeset_or_named() {
    let book = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(book.path().join(name), text).unwrap();
    std::fs::create_dir(book.path().join("docs")).unwrap();
    write("book.toml", "[book]\nsrc = \"docs\"\n");
    write("docs/SUMMARY.md", "[Page](page.md)\n");
    let out = book.path().join("out");
    write("docs/page.md", "Half of $a * b \\le \\sqrt{c * d}$ is `$5`.\n\n$$x_1 < 2$$\n");
    build(book.path(), &out).unwrap();
    let page = std::fs::read_to_string(out.join("page.html")).unwrap();
    assert_eq!((page.matches("<math").count(), page.matches("</math>").count()), (2, 2));
    assert!(page.contains("<msqrt>") && page.contains("<code>$5</code>") && !page.contains("<em>"));
    write("docs/page.md", "Half of $\\frac{1}$ is");
    let fault = format!("{:#}", build(book.path(), &out).unwrap_err());
    assert!(fault.contains("page.md") && fault.contains("\\frac{1}"), "{fault}");
}

/// Pages of the repository that are not in the book.
#[test]
fn links_of_pages_outside_the_book_exist() {
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let mut links = 0;
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") {
                assert!(root().join(target).exists(), "{name}: {target}");
                links += 1;
            }
        }
        assert!(name != "README.md" || links > 5, "{links}");
    }
}

/// Paths in code such as `crates/...` exist.
#[test]
fn named_files_exist() {
    let mut found = Vec::new();
    pages(&root().join("docs"), &mut found);
    let mut named = 0;
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        for word in text.split('`').filter(|word| !word.contains(char::is_whitespace)) {
            if ["crates/", "docs/", "fuzz/", "bench/", "xtask/"].iter().any(|folder| word.starts_with(folder))
            {
                assert!(root().join(word).exists(), "{}: {word}", page.display());
                named += 1;
            }
        }
    }
    assert!(named > 40, "{named}");
}
