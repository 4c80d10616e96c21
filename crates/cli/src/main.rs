//! The `isolde` command: flags, files, wiring, progress, exit codes.
//!
//! Everything that is known about databases and searches is in the libraries; this is the only crate that reads files,
//! prints or exits. A command reads its input, asks a library, and puts the answer on a [`page::Page`].

mod app;
mod args;
mod baseline;
mod complain;
mod emit;
mod explore;
mod fixes;
mod guard;
mod input;
mod kept;
mod levels;
mod memory;
mod model;
mod model_files;
mod on;
mod output;
mod page;
mod picture;
mod plain;
mod prove;
mod prove_confirm;
mod replay;
mod report;
mod server;
mod space;
mod spec;
mod store;
mod tables;
mod watch;

use std::process::ExitCode;
use std::thread;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
use crate::complain::Mistake;

/// A search copies and drops small tree nodes at every step; `cargo bench -p isolde-benches` shows what this one is
/// worth.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("isolde: {panic}\nThis is a bug in Isolde. Please report it, with the command and the file.");
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return refuse(&refused),
    };
    watch::catch_interrupts();
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || run(cli));
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(_)) => ExitCode::from(EXIT_BUG),
        Err(error) => {
            eprintln!("error: no thread can be started: {error}");
            ExitCode::from(EXIT_MISTAKE)
        }
    }
}

/// Shows what the command line's parser has to say: help, or a mistake, which quotes what was typed.
fn refuse(refused: &clap::Error) -> ExitCode {
    let arguments = || std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let text = server::masked_message(&refused.render().ansi().to_string(), arguments());
    // Whoever closed the stream does not want to read it.
    let _ = match refused.use_stderr() {
        true => std::io::Write::write_all(&mut anstream::stderr(), text.as_bytes()),
        false => std::io::Write::write_all(&mut anstream::stdout(), text.as_bytes()),
    };
    ExitCode::from(refused.exit_code() as u8)
}

/// Deeply nested input is worked on recursively; the pages of a stack cost nothing until they are touched.
const STACK_BYTES: usize = 512 << 20;

/// The command line or an input has a mistake.
const EXIT_MISTAKE: u8 = 2;
/// Nothing is known.
const EXIT_INCONCLUSIVE: u8 = 3;
/// We have made one; also what Rust exits with by itself.
const EXIT_BUG: u8 = 101;

fn run(cli: Cli) -> u8 {
    let color = cli.color;
    let done = match cli.command {
        Command::Explore(explore) => explore::run(&explore, color),
        Command::Replay(replay) => replay::run(&replay, color),
        Command::Spec(spec) => spec::run(&spec, color),
        Command::Model(model) => model::run(&model, color),
        Command::Prove(prove) => prove::run(&prove, color),
        Command::Space(space) => space::run(&space, color),
        Command::Report(kept) => report::run(&kept, color),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "isolde", &mut std::io::stdout());
            Ok(0)
        }
        Command::Man => manual(),
    };
    done.unwrap_or_else(|mistake| {
        page::complain(&mistake, color);
        mistake.exit_code()
    })
}

/// The manual pages of the command and its subcommands, one after another.
fn manual() -> Result<u8, Mistake> {
    let mut command = Cli::command();
    command.build();
    let subcommands = command.get_subcommands().filter(|c| !c.is_hide_set()).cloned();
    for command in std::iter::once(command.clone()).chain(subcommands) {
        let page = clap_mangen::Man::new(command);
        page.render(&mut std::io::stdout()).map_err(|error| Mistake::new(format!("cannot write: {error}")))?;
    }
    Ok(0)
}
