//! Checks the links of the built book: every target exists, and nothing is loaded from the network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use regex::Regex;

/// The broken links of the pages in a folder, a sentence each.
pub fn faults(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = BTreeMap::new();
    collect(folder, Path::new(""), &mut files)?;
    let mut faults = Vec::new();
    for (page, text) in &files {
        let Some(text) = text else { continue };
        for link in &text.links {
            if let Some(fault) = fault(page, link, &files) {
                faults.push(format!("{}: {}: {fault}", page.display(), link.target));
            }
        }
    }
    Ok(faults)
}

/// Adds every file of a folder by its path, and the links of pages.
fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Option<Page>>) -> anyhow::Result<()> {
    let place = root.join(folder);
    for entry in std::fs::read_dir(&place).with_context(|| place.display().to_string())? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
            continue;
        }
        let is_page = path.extension().is_some_and(|extension| extension == "html");
        let page = is_page.then(|| std::fs::read_to_string(entry.path()).map(|text| Page::read(&text)));
        files.insert(path, page.transpose()?);
    }
    Ok(())
}

fn fault(page: &Path, link: &Link, files: &BTreeMap<PathBuf, Option<Page>>) -> Option<String> {
    let target = link.target.as_str();
    if target.contains("://") || target.starts_with("//") {
        return link.loads.then(|| "is loaded from elsewhere".into());
    }
    if target.starts_with("data:") || target.starts_with("javascript:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => page.to_path_buf(),
        path => match resolve(page, path) {
            Some(path) => path,
            None => return Some("leads out of the book".into()),
        },
    };
    match files.get(&path) {
        None => Some("there is no such file".into()),
        Some(Some(page)) if !anchor.is_empty() && !page.ids.contains(anchor) => {
            Some("there is no such place on the page".into())
        }
        Some(None) if !anchor.is_empty() => Some("a file that is not a page has no places".into()),
        _ => None,
    }
}

/// The path that a relative link on a page leads to; `None` when it leaves the folder.
fn resolve(page: &Path, path: &str) -> Option<PathBuf> {
    let mut place = page.parent()?.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir if place.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(place)
}

/// The anchors and links of a page.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<Link>,
}

struct Link {
    target: String,
    /// Whether a browser loads it together with the page.
    loads: bool,
}

impl Page {
    /// Reads the tags of a page, except those in comments and scripts. Text has no tags: there `<` is an entity.
    fn read(text: &str) -> Page {
        let regex = |pattern| Regex::new(pattern).expect("the pattern is valid");
        let text = regex("(?s)<!--.*?-->").replace_all(text, "");
        let text = regex("(?s)(<(?:script|style)[^>]*>).*?</").replace_all(&text, "$1</");
        let attribute = regex(r#"\s(id|href|src)="([^"]*)""#);
        let mut page = Page { ids: BTreeSet::new(), links: Vec::new() };
        for tag in regex(r"<(\w+)(\s[^>]*)>").captures_iter(&text) {
            for found in attribute.captures_iter(&tag[2]) {
                let target = found[2].replace("&amp;", "&");
                match &found[1] {
                    "id" => _ = page.ids.insert(target),
                    _ => page.links.push(Link { target, loads: &tag[1] != "a" }),
                }
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(pages: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in pages {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        faults(folder.path()).unwrap()
    }

    #[test]
    fn valid_links_pass() {
        let index = r##"<h1 id="top">A</h1><a href="#top">x</a> <a class="b" href="part/b.html#c">y</a>
            <img src="p.svg"> <a href="https://elsewhere.example/">z</a> <!-- <a href="no.html"> -->
            <script src="s.js">var x = '<a href="no.html">';</script>"##;
        let pages = [
            ("index.html", index),
            ("part/b.html", r#"<h2 id="c">B</h2><a href="../index.html">x</a>"#),
            ("p.svg", "<svg/>"),
            ("s.js", ""),
        ];
        assert_eq!(faults_of(&pages), Vec::<String>::new());
    }

    #[test]
    fn broken_links_are_found() {
        for (tag, fault) in [
            (r#"<a href="b.html">"#, "b.html: there is no such file"),
            (r##"<a href="#x">"##, "#x: there is no such place"),
            (r#"<a href="p.svg#x">"#, "p.svg#x: a file that is not a page"),
            (r#"<a href="../b.html">"#, "../b.html: leads out"),
            (r#"<img src="no.png">"#, "no.png: there is no such file"),
            (r#"<link rel="x" href="https://cdn.example/x.css">"#, "x.css: is loaded from elsewhere"),
        ] {
            let found = faults_of(&[("index.html", tag), ("p.svg", "<svg/>")]);
            assert_eq!(found.len(), 1, "{tag}: {found:?}");
            assert!(found[0].contains(fault), "{tag}: {found:?}");
        }
    }
}
