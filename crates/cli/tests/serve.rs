//! `superpose serve`: start, answer, end and errors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superpose"));
    command.arg("serve");
    command
}

/// Starts the server and returns it with its address.
fn started() -> (Child, String) {
    let mut child = serve().args(["--port", "0", "--threads", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let address = address.to_string();
    (child, address)
}

/// Returns the answer to a request.
fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// As many connections as the server accepts, all idle, delay another request by the time for a head (5 s).
#[test]
fn idle_connections_delay_others_briefly() {
    let (mut child, address) = started();
    let idle: Vec<TcpStream> = (0..512).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let asked = Instant::now();
    let answer = ask(&address, "/");
    let waited = asked.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(idle);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(waited < Duration::from_secs(15), "{waited:?}");
}

#[test]
#[cfg(unix)]
fn server_prints_its_address_and_ends_on_ctrl_c() {
    let (mut child, address) = started();
    assert!(
        ask(&address, "/").starts_with("HTTP/1.1 200")
            && ask(&address, "/api/about").contains("\"threads\":1")
    );
    // An open event stream does not prevent the shutdown.
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(format!("GET /api/events HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));

    let asked = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
}

#[test]
fn invalid_arguments_are_rejected() {
    for (arguments, words) in [
        (vec!["--open", "/nowhere/at/all"], "open = /nowhere/at/all"),
        (vec!["--threads", "0"], "threads = 0"),
        (vec!["--port", "99999"], "99999"),
    ] {
        let output = serve()
            .args(["--port", "0"].iter().filter(|_| arguments[0] != "--port"))
            .args(&arguments)
            .output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(words), "{arguments:?}: {text}");
    }
}
