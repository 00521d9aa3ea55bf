//! The long tests of the web server: a load test of one minute, and requests generated from its OpenAPI schema.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run;

/// The virtual environment that schemathesis is installed in, and the folder of its input files.
const TOOLS: &str = "target/schemathesis";

/// Runs the load test of the server: event listeners, malformed requests and a moving slider for one minute.
pub fn flood() -> Result<(), String> {
    run("cargo test --release --locked -p superpose-web --test all flood -- --ignored --nocapture", &[], ".")
}

/// Sends thousands of requests that schemathesis generates from the OpenAPI schema. No answer may be a server error, and each
/// must conform to the schema. Event streams are excluded because they do not end.
pub fn schemathesis() -> Result<(), String> {
    let tool = format!("{TOOLS}/bin/schemathesis");
    if !std::path::Path::new(&tool).exists() {
        run(&format!("python3 -m venv {TOOLS}"), &[], ".")?;
        run(&format!("{TOOLS}/bin/pip install -q schemathesis"), &[], ".")?;
    }
    run("cargo build --release --locked -p superpose", &[], ".")?;
    // Content for the server: a store with figures and tables, and a file of embeddings.
    let (program, store, rows) =
        ("target/release/superpose", format!("{TOOLS}/sweep.sqlite"), format!("{TOOLS}/rows.safetensors"));
    run(&format!("{program} sweep docs/sweep.toml --store {store}"), &[], ".")?;
    run(&format!("{program} run --vocab 64 --dim 16 --samples 256 --export {rows}"), &[], ".")?;
    let mut server = Command::new(program)
        .args(["serve", "--port", "0", "--open", &store, "--open", &rows])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("superpose serve: {error}"))?;
    let mut address = String::new();
    let read = server.stdout.take().map(|out| BufReader::new(out).read_line(&mut address));
    let result = match read {
        Some(Ok(_)) => run(
            &format!(
                "{tool} run {}/api/openapi.json --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance --exclude-path-regex events$ --max-examples 200 --seed 1 --generation-database none --request-timeout 120 --suppress-health-check all",
                address.trim()
            ),
            &[],
            ".",
        ),
        _ => Err("superpose serve printed no address".into()),
    };
    let exited = server.try_wait();
    let _ = server.kill();
    let _ = server.wait();
    match exited {
        Ok(None) => result,
        _ => Err("superpose serve exited during the test".into()),
    }
}
