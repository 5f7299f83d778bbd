//! The platforms of the image.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use object::Endianness;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use oci_spec::image::Arch;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Platform {
    Amd64,
    Arm64,
}

impl Platform {
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Of this program.
    pub const fn native() -> Self {
        if cfg!(target_arch = "aarch64") {
            Self::Arm64
        } else {
            Self::Amd64
        }
    }

    /// As Go and OCI name it.
    pub const fn architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// As Rust names it. musl, because the program must not need a C library in the image.
    pub const fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// As Zig names it.
    pub const fn zig_target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-musl",
            Self::Arm64 => "aarch64-linux-musl",
        }
    }

    pub(crate) const fn oci(self) -> Arch {
        match self {
            Self::Amd64 => Arch::Amd64,
            Self::Arm64 => Arch::ARM64,
        }
    }

    const fn machine(self) -> u16 {
        match self {
            Self::Amd64 => EM_X86_64,
            Self::Arm64 => EM_AARCH64,
        }
    }

    /// Fails unless `program` is an ELF file for this platform that runs without a dynamic linker.
    pub fn check(self, program: &[u8]) -> Result<()> {
        let header = FileHeader64::<Endianness>::parse(program).context("the program is not an ELF file")?;
        let endian = header.endian()?;
        let machine = header.e_machine.get(endian);
        ensure!(
            machine == self.machine(),
            "the program is for ELF machine {machine}, {self} is {}",
            self.machine()
        );
        let segments = header.program_headers(endian, program)?;
        if segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP) {
            bail!("the program needs a dynamic linker, and the image has none");
        }
        Ok(())
    }

    /// An ELF header without a program, which stands in for one in tests of the image.
    pub fn stand_in(self) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[18..20].copy_from_slice(&self.machine().to_le_bytes());
        header[52..54].copy_from_slice(&64u16.to_le_bytes());
        header
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linux/{}", self.architecture())
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .into_iter()
            .find(|platform| platform.to_string() == text);
        found.ok_or_else(|| {
            format!(
                "no such platform: use {}",
                Self::ALL.map(|p| p.to_string()).join(" or ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_for_one_platform() {
        for platform in Platform::ALL {
            for program in Platform::ALL {
                assert_eq!(platform.check(&program.stand_in()).is_ok(), platform == program);
            }
        }
        assert!(Platform::Amd64.check(b"#!/bin/sh\n").is_err());
    }

    /// The test runs as a dynamically linked program.
    #[test]
    fn a_program_is_static() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(
            Platform::native()
                .check(&this)
                .unwrap_err()
                .to_string()
                .contains("dynamic linker")
        );
    }

    #[test]
    fn platforms_are_read_as_they_are_printed() {
        for platform in Platform::ALL {
            assert_eq!(platform.to_string().parse(), Ok(platform));
        }
        assert!("windows/amd64".parse::<Platform>().is_err());
    }
}
