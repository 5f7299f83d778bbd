//! Which build of Windows an image is for, and which nodes run it.

use super::{BUILDS, WindowsBuild};

/// Words in tags of Microsoft's base images (mcr.microsoft.com/windows), by build.
const WORDS: [(&str, u32); 9] = [
    ("ltsc2016", 14393),
    ("1809", 17763),
    ("ltsc2019", 17763),
    ("1903", 18362),
    ("1909", 18363),
    ("2004", 19041),
    ("20h2", 19042),
    ("ltsc2022", 20348),
    ("ltsc2025", 26100),
];

/// Words that an image of Windows has in its name or tag. Without one of them, `1809` may be any number.
const WINDOWS: [&str; 4] = ["nanoserver", "servercore", "windows", "ltsc20"];

/// Builds whose containers run on the next long-term releases, too (microsoft/hcsshim
/// `osversion/platform_compat_windows.go`).
const STABLE: [u32; 2] = [20348, 26100];

/// The build that an image is for, by its tag: `mcr.microsoft.com/windows/servercore:ltsc2022` is for 20348. `None` if the tag does not
/// say it.
pub fn build_of_image(image: &str) -> Option<u32> {
    let image = image.split('@').next().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let (_, tag) = name.split_once(':')?;
    if let Some(build) = full_version(tag) {
        return Some(build);
    }
    let image = image.to_ascii_lowercase();
    if !WINDOWS.iter().any(|word| image.contains(word)) {
        return None;
    }
    let tag = tag.to_ascii_lowercase();
    let mut words = tag.split(['-', '_', '.']);
    words.find_map(|word| {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, build)| *build)
    })
}

/// The build in a tag such as `1.2-10.0.17763.1432`.
fn full_version(tag: &str) -> Option<u32> {
    let (_, rest) = tag.split_once("10.0.")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..end].parse().ok()?;
    let is_known = BUILDS.iter().any(|build| build.number == number);
    is_known.then_some(number)
}

/// Whether a node runs containers of a build with process isolation: before Windows Server 2022 of its own build only,
/// since then from the long-term release before it up to its own (microsoft/hcsshim `CheckHostAndContainerCompat`).
pub fn runs(host: WindowsBuild, container: u32) -> bool {
    if host.build < STABLE[0] {
        return host.build == container;
    }
    let before = STABLE.iter().rev().find(|stable| host.build > **stable);
    let oldest = before.copied().unwrap_or(STABLE[0]);
    (oldest..=host.build).contains(&container)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("mcr.microsoft.com/windows/servercore:ltsc2019", Some(17763))]
    #[case(
        "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022",
        Some(20348)
    )]
    #[case("mcr.microsoft.com/windows/nanoserver:1809", Some(17763))]
    #[case("mcr.microsoft.com/dotnet/aspnet:8.0-nanoserver-ltsc2025", Some(26100))]
    #[case("mcr.microsoft.com/windows/nanoserver:10.0.17763.1432", Some(17763))]
    #[case("registry:5000/windows/app@sha256:00", None)]
    #[case("example.com/app:1809", None)]
    #[case("example.com/app:10.0.3", None)]
    #[case("example.com/app:10.0.", None)]
    #[case("mcr.microsoft.com/windows/servercore", None)]
    #[case("", None)]
    fn reads_tags(#[case] image: &str, #[case] build: Option<u32>) {
        assert_eq!(build_of_image(image), build);
    }

    #[rstest]
    #[case("10.0.17763", 17763, true)]
    #[case("10.0.17763", 20348, false)]
    #[case("10.0.20348", 17763, false)]
    #[case("10.0.20348", 20348, true)]
    #[case("10.0.20348", 26100, false)]
    #[case("10.0.26100", 20348, true)]
    #[case("10.0.26100", 17763, false)]
    #[case("10.0.29000", 20348, false)]
    #[case("10.0.29000", 26100, true)]
    fn compatibility(#[case] host: &str, #[case] container: u32, #[case] expected: bool) {
        assert_eq!(runs(host.parse().unwrap(), container), expected);
    }
}
