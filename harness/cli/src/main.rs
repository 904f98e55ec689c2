//! The binary `specimen`; everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    specimen_cli::main()
}
