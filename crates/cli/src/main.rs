//! The `superpose` binary; see the library beside it.

fn main() -> std::process::ExitCode {
    superpose_cli::main()
}
