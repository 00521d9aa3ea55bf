//! `cargo xtask book` and `cargo xtask reference`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use superpose_book::{build, links, reference, root};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["build", out] => {
            let out = std::path::absolute(PathBuf::from(out))?;
            build(&root(), &out)?;
            let faults = links::faults(&out)?;
            if !faults.is_empty() {
                bail!("{}", faults.join("\n"));
            }
            println!("{}", out.join("index.html").display());
        }
        ["reference"] => {
            for (name, text) in reference::pages()? {
                let path = root().join(name);
                std::fs::write(&path, text).with_context(|| path.display().to_string())?;
                println!("{name}");
            }
        }
        _ => bail!("build FOLDER, or reference"),
    }
    Ok(())
}
