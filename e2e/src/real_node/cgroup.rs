//! The cgroup of a node: one folder in each hierarchy, of cgroup v1 or v2.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "wn-node";
/// Processes of a node that was killed take a moment to end.
const EMPTY_LIMIT: Duration = Duration::from_secs(20);

/// Removed on drop.
pub struct Cgroup {
    name: String,
}

/// Memory of one container, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// What the limit counts: the cache of files included, which the kernel drops first.
    pub usage: u64,
    /// The most that it was.
    pub peak: u64,
    pub limit: u64,
}

impl Memory {
    fn of(folder: &Path) -> Result<Self> {
        let value = |file: &str| number(&read(&folder.join(file))?);
        let [usage, peak, limit] = memory_files();
        Ok(Self {
            usage: value(usage)?,
            peak: value(peak)?,
            limit: value(limit)?,
        })
    }
}

/// Files with the usage, its peak, and the limit.
fn memory_files() -> [&'static str; 3] {
    if is_v2() {
        ["memory.current", "memory.peak", "memory.max"]
    } else {
        [
            "memory.usage_in_bytes",
            "memory.max_usage_in_bytes",
            "memory.limit_in_bytes",
        ]
    }
}

impl Cgroup {
    /// Creates an empty one, and removes those whose process has ended.
    pub fn create() -> Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        sweep()?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let cgroup = Self {
            name: format!("{PREFIX}-{}-{number}", std::process::id()),
        };
        cgroup.make()?;
        Ok(cgroup)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until every process in it has ended, and removes what the kubelet and runc made in it.
    pub fn empty(&self) -> Result<()> {
        self.remove()?;
        self.make()
    }

    /// Processes of a container of a pod that is Burstable.
    pub fn processes(&self, pod: &str, container: &str) -> Result<Vec<u32>> {
        let text = read(&self.container("pids", pod, container).join("cgroup.procs"))?;
        text.lines().map(|line| Ok(line.parse()?)).collect()
    }

    pub fn memory(&self, pod: &str, container: &str) -> Result<Memory> {
        Memory::of(&self.container("memory", pod, container))
    }

    /// Moves a process into it, and limits its memory to so many bytes. Memory that it took before does not count.
    pub fn confine(&self, pid: u32, limit: u64) -> Result<()> {
        let [.., limit_file] = memory_files();
        for (file, value) in [(limit_file, limit), ("cgroup.procs", u64::from(pid))] {
            let path = self.folder("memory").join(file);
            fs::write(&path, value.to_string()).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }

    /// Memory of the processes that were confined.
    pub fn confined(&self) -> Result<Memory> {
        Memory::of(&self.folder("memory"))
    }

    fn folder(&self, controller: &str) -> PathBuf {
        let mut folder = PathBuf::from(ROOT);
        if !is_v2() {
            folder.push(controller);
        }
        folder.join(&self.name)
    }

    fn container(&self, controller: &str, pod: &str, container: &str) -> PathBuf {
        self.folder(controller)
            .join(format!("kubepods/burstable/pod{pod}"))
            .join(container)
    }

    fn make(&self) -> Result<()> {
        for hierarchy in hierarchies()? {
            match fs::create_dir(hierarchy.join(&self.name)) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                    return Err(e).with_context(|| format!("create a cgroup in {}", hierarchy.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn remove(&self) -> Result<()> {
        let deadline = Instant::now() + EMPTY_LIMIT;
        for hierarchy in hierarchies()? {
            let folder = hierarchy.join(&self.name);
            while let Err(e) = remove_tree(&folder) {
                if Instant::now() > deadline {
                    bail!("remove {}: {e}", folder.display());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The next node tries again.
        let _ = self.remove();
    }
}

/// Whether this machine has cgroup v2 only.
fn is_v2() -> bool {
    Path::new(ROOT).join("cgroup.controllers").is_file()
}

/// The roots of all hierarchies.
fn hierarchies() -> Result<Vec<PathBuf>> {
    if is_v2() {
        return Ok(vec![PathBuf::from(ROOT)]);
    }
    let entries = fs::read_dir(ROOT).with_context(|| format!("read {ROOT}"))?;
    let mut all = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.join("cgroup.procs").is_file() {
            all.push(path);
        }
    }
    Ok(all)
}

fn sweep() -> Result<()> {
    for hierarchy in hierarchies()? {
        for entry in fs::read_dir(&hierarchy)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').nth(1));
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // It may still be ending; another node will find it.
                let _ = remove_tree(&entry.path());
            }
        }
    }
    Ok(())
}

/// Removes the folders. The files in them belong to the kernel and go with them.
fn remove_tree(folder: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

fn number(text: &str) -> Result<u64> {
    let text = text.trim();
    text.parse()
        .with_context(|| format!("{text:?} is not a number of bytes"))
}
