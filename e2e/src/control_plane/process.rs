//! A child process that cannot outlive us.
//!
//! Each program runs under a small POSIX shell, its supervisor, whose standard input is a pipe that
//! only we hold. However we end – return, panic, Ctrl-C, `kill -9` – the kernel closes the pipe, the
//! supervisor reads end of file and kills the program. (`PR_SET_PDEATHSIG` is no help: it fires when
//! the *thread* that started the child ends, and test threads end.) A word written to the pipe is a
//! signal to send, which needs no unsafe code and cannot hit a recycled pid.
//!
//! The supervisor has a process group of its own, so Ctrl-C in a terminal reaches only us and we
//! take things down in order.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// `$1` is the log file, the rest the command. The program's pid is the only line on stdout.
/// The inner group waits for orders on fd 3 because a background job gets no stdin of its own;
/// it is killed when the program ends by itself, before that pid could mean another process.
const SUPERVISOR: &str = r#"
exec 3<&0
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 3<&- &
child=$!
echo "$child"
exec >/dev/null
{ while read -r signal; do kill -s "$signal" "$child"; done; kill -s KILL "$child"; } <&3 2>/dev/null &
orders=$!
wait "$child"; status=$?
kill -s KILL "$orders" 2>/dev/null
exit "$status"
"#;

/// How long a program may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to run.
pub struct Program<'a> {
    /// For messages, and the name of the log file.
    pub name: &'a str,
    pub path: &'a Path,
    pub args: Vec<OsString>,
    pub env: Vec<(&'a str, OsString)>,
    /// Its working directory; ours where there is none.
    pub directory: Option<PathBuf>,
    /// Directory of the log file.
    pub logs: &'a Path,
}

impl<'a> Program<'a> {
    pub fn new(name: &'a str, path: &'a Path, logs: &'a Path) -> Self {
        Self {
            name,
            path,
            args: Vec::new(),
            env: Vec::new(),
            directory: None,
            logs,
        }
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// `--name=value`, for values that may be no UTF-8.
    pub fn flag(self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut arg = OsString::from(format!("--{name}="));
        arg.push(value);
        self.arg(arg)
    }

    pub fn env(mut self, name: &'a str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    pub fn start(self) -> Result<Process> {
        Process::start(self)
    }
}

/// A running program. Dropping it kills the program and waits until it is gone.
pub struct Process {
    name: String,
    supervisor: Child,
    orders: Option<ChildStdin>,
    pid: u32,
    log: PathBuf,
}

impl Process {
    fn start(program: Program<'_>) -> Result<Self> {
        let log = program.logs.join(format!("{}.log", program.name));
        let mut supervisor = Command::new("sh")
            .arg("-c")
            .arg(SUPERVISOR)
            .arg(format!("supervise-{}", program.name))
            .arg(&log)
            .arg(program.path)
            .args(&program.args)
            .envs(program.env)
            .current_dir(program.directory.as_deref().unwrap_or(Path::new(".")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {}", program.name))?;
        let orders = supervisor.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = supervisor.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let pid = line
            .trim()
            .parse()
            .with_context(|| format!("{} was not started", program.name))?;
        Ok(Self {
            name: program.name.to_owned(),
            supervisor,
            orders,
            pid,
            log,
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Everything the program wrote to stdout and stderr.
    pub fn log(&self) -> String {
        // Programs may write half a character before they die.
        fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The program's exit, when it has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.supervisor
            .try_wait()
            .with_context(|| format!("look after {}", self.name))
    }

    /// An error with the end of the log, when the program has ended.
    pub fn require_running(&mut self) -> Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!(
                "{} ended ({status}); its last words:\n{}",
                self.name,
                self.last_words()
            ),
        }
    }

    pub fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }

    /// Waits until the program ends by itself.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        // Not `Child::wait`: that would close our end of the pipe, which is the order to kill.
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal by its name without `SIG`, as `STOP`.
    pub fn signal(&mut self, signal: &str) -> Result<()> {
        let orders = self
            .orders
            .as_mut()
            .with_context(|| format!("{} was ended before", self.name))?;
        writeln!(orders, "{signal}").with_context(|| format!("send SIG{signal} to {}", self.name))
    }

    /// Asks the program to end (SIGTERM) and waits for it.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        // A broken pipe means that it has ended already, which is what is wanted.
        let _ = self.signal("TERM");
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("{} does not end on SIGTERM", self.name);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the program at once (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self) {
        drop(self.orders.take());
        let _ = self.supervisor.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
