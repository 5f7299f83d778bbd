//! kube-proxy's feature gates by minor, as far as Windows nodes meet them. What a minor takes and refuses is in
//! the record (`seen.rs`); here is how a list of gates is read.

use super::failure::{Kind, Verdict, refuse};
use super::seen::{self, TestCluster};

/// First minor that does not know `WinDSR`: later than any that is recorded (kubernetes/kubernetes#142125).
const NO_WIN_DSR: u32 = 38;

/// Why kube-proxy of that minor would not take `gates` (`A=true,B=false`). Gates that are not in the record count as
/// known: every component knows all of Kubernetes' gates.
pub fn refused(gates: &str, minor: u32) -> Verdict {
    pairs(gates).try_for_each(|(name, value)| {
        let gone = name == "WinDSR" && minor >= NO_WIN_DSR;
        let error = |why: String| refuse(true, Kind::Exit, why);
        match value {
            _ if gone => error(format!("failed complete: unrecognized feature gate: {name}")),
            // The record has it of one gate.
            None => seen::ends(minor, "a gate without value", TestCluster::Flags),
            Some("true" | "false") => {
                let condition = format!("{name}={}", value.unwrap_or_default());
                if seen::is_recorded(&condition) {
                    seen::ends(minor, &condition, TestCluster::Flags)
                } else {
                    Ok(())
                }
            }
            Some(other) => error(format!("invalid value of {name}={other}, err: strconv.ParseBool")),
        }
    })
}

/// The value given to a gate.
pub fn named<'a>(gates: &'a str, name: &str) -> Option<&'a str> {
    pairs(gates).filter(|(gate, _)| *gate == name).last()?.1
}

fn pairs(gates: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    gates
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            pair.split_once('=')
                .map_or((pair, None), |(name, value)| (name.trim(), Some(value.trim())))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_by_minor() {
        for (gates, minor, expected) in [
            ("WinDSR=true", 29, None),
            ("WinDSR=true", 37, None),
            ("WinDSR=true", 38, Some("unrecognized feature gate: WinDSR")),
            ("WinDSR=false", 33, None),
            (
                "WinDSR=false",
                34,
                Some("cannot set feature gate WinDSR to false, feature is locked to true"),
            ),
            ("WinOverlay=false", 33, None),
            (
                "A=true,WinOverlay=false",
                34,
                Some("cannot set feature gate WinOverlay to false, feature is locked to true"),
            ),
            (
                "IPv6DualStack=true",
                32,
                Some("unrecognized feature gate: IPv6DualStack"),
            ),
            (
                "WindowsHostProcessContainers=true",
                32,
                Some("unrecognized feature gate: WindowsHostProcessContainers"),
            ),
            ("WinDSR", 36, Some("malformed pair, expect string=bool")),
            (
                "WinDSR=on",
                36,
                Some("invalid value of WinDSR=on, err: strconv.ParseBool"),
            ),
            ("", 36, None),
        ] {
            let refused = refused(gates, minor).err().map(|failure| failure.message);
            match expected {
                None => assert_eq!(refused, None, "{gates} {minor}"),
                Some(text) => assert!(refused.unwrap_or_default().contains(text), "{gates} {minor}"),
            }
        }
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(named("WinDSR=true,A=true,WinDSR=false", "WinDSR"), Some("false"));
        assert_eq!(named("A=true", "WinDSR"), None);
    }
}
