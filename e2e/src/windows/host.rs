//! What runs programs for Windows here: Wine, with the DLLs in its `system32`.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::dll;
use crate::control_plane::go_build::find_program;
use crate::control_plane::once::{fingerprint, once};
use crate::control_plane::paths;
use crate::control_plane::process::Program;
use crate::skip;

/// Debian's package `wine64` puts nothing on the `PATH`.
const WINE: &str = "/usr/lib/wine/wine64";
const WINE_SERVER: &str = "/usr/lib/wine/wineserver";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
const SETUP: &str = "e2e/windows/setup.sh";

/// A Wine prefix that is ready.
#[derive(Clone, Debug)]
pub struct WindowsHost {
    prefix: PathBuf,
}

impl WindowsHost {
    /// `None` where Wine or mingw is missing, after saying so and what to do: see [`skip::unless`].
    pub fn prepare(wanted_by: &str, progress: &dyn Fn(&str)) -> Result<Option<Self>> {
        let compiler = find_program(COMPILER).filter(|_| Path::new(WINE).is_file());
        let missing = format!("no Wine or no mingw here; {SETUP} installs them");
        if !skip::unless(compiler.is_some(), wanted_by, &missing)? {
            return Ok(None);
        }
        compiler
            .map(|compiler| Self::build(&compiler, progress))
            .transpose()
    }

    fn build(compiler: &Path, progress: &dyn Fn(&str)) -> Result<Self> {
        let folder = paths::windows().join("dll");
        let sources = dll::sources(&folder)?;
        let tag = fingerprint(sources.iter().map(String::as_str));
        let prefix = once(&paths::target().join("windows"), "wine", &tag, |into| {
            progress("making a Wine prefix (once; about half a minute)…");
            boot(into)?;
            let system = into.join("drive_c/windows/system32");
            dll::build(compiler, &folder, &system, into)
        })?;
        Ok(Self { prefix })
    }

    /// The same Windows with a drive C: of its own in `folder`: what a node's programs leave there is no other
    /// node's.
    pub fn with_drive(&self, folder: &Path) -> Result<Self> {
        let prefix = folder.join("wine");
        let drive = prefix.join("drive_c");
        let devices = prefix.join("dosdevices");
        for folder in [&drive, &devices] {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        for registry in ["system.reg", "user.reg", "userdef.reg", ".update-timestamp"] {
            let from = self.prefix.join(registry);
            if from.is_file() {
                fs::copy(&from, prefix.join(registry))?;
            }
        }
        for entry in fs::read_dir(self.prefix.join("drive_c"))? {
            let entry = entry?;
            symlink(entry.path(), drive.join(entry.file_name()))?;
        }
        symlink("../drive_c", devices.join("c:"))?;
        symlink("/", devices.join("z:"))?;
        Ok(Self { prefix })
    }

    /// Where a path of drive C: is on this machine.
    pub fn on_drive(&self, path: &str) -> PathBuf {
        let path = path.trim_start_matches("C:").trim_start_matches('/');
        self.prefix.join("drive_c").join(path)
    }

    /// The same as [`WindowsHost::program`], for a run whose end is awaited and whose output is read.
    pub fn command(&self, path: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(WINE);
        command
            .arg(path)
            .envs(environment(&self.prefix))
            .kill_on_drop(true);
        command
    }

    /// A program for Windows, to be given arguments and started.
    pub fn program<'a>(&self, name: &'a str, path: &Path, logs: &'a Path) -> Program<'a> {
        within(&self.prefix, Program::new(name, Path::new(WINE), logs)).arg(path)
    }

    /// The address of this machine that has a way out, and so an interface with a MAC address, which
    /// kube-proxy asks for. No packet is sent.
    pub fn address() -> Result<IpAddr> {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket
            .connect(("198.51.100.1", 9))
            .context("this machine has no address besides loopback")?;
        Ok(socket.local_addr()?.ip())
    }

    /// A file of this machine as Windows programs name it.
    pub fn path(file: &Path) -> String {
        format!("Z:{}", file.display()).replace('/', "\\")
    }
}

fn within<'a>(prefix: &Path, program: Program<'a>) -> Program<'a> {
    environment(prefix)
        .into_iter()
        .fold(program, |program, (name, value)| program.env(name, value))
}

fn environment(prefix: &Path) -> [(&'static str, OsString); 5] {
    [
        ("WINEPREFIX", prefix.into()),
        ("WINEARCH", "win64".into()),
        ("WINEDEBUG", "-all".into()),
        // Nobody looks at a window, and .NET and HTML are not asked for.
        ("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe=d".into()),
        ("DISPLAY", OsString::new()),
    ]
}

fn boot(prefix: &Path) -> Result<()> {
    for (name, path, argument) in [
        ("wineboot", WINE, "wineboot"),
        ("wineserver", WINE_SERVER, "--wait"),
    ] {
        let mut run = within(prefix, Program::new(name, Path::new(path), prefix))
            .arg(argument)
            .start()?;
        if !run.wait()?.success() {
            bail!("{name} failed:\n{}", run.log());
        }
    }
    let system = prefix.join("drive_c/windows/system32");
    fs::metadata(&system).with_context(|| format!("Wine made no {}", system.display()))?;
    Ok(())
}
