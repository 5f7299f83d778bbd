//! kube-proxy's feature gates by minor, as far as Windows nodes meet them
//! (`pkg/features/kube_features.go` of each minor; the messages are those of
//! `k8s.io/component-base/featuregate`, measured with the Windows binaries of 1.32 to 1.37).

struct Gate {
    name: &'static str,
    /// First minor where it is on unless told otherwise.
    on_from: u32,
    /// First minor where it is locked to true.
    locked_from: u32,
    /// First minor that does not know it.
    removed_in: u32,
}

const GATES: &[Gate] = &[
    // Removal in 1.38 is kubernetes/kubernetes#142125.
    Gate {
        name: "WinDSR",
        on_from: 33,
        locked_from: 34,
        removed_in: 38,
    },
    Gate {
        name: "WinOverlay",
        on_from: 20,
        locked_from: 34,
        removed_in: u32::MAX,
    },
    Gate {
        name: "IPv6DualStack",
        on_from: 21,
        locked_from: 23,
        removed_in: 25,
    },
    Gate {
        name: "WindowsHostProcessContainers",
        on_from: 23,
        locked_from: 26,
        removed_in: 28,
    },
];

/// Why kube-proxy of that minor would not take `gates` (`A=true,B=false`). Gates that are not in the
/// table count as known: every component knows all of Kubernetes' gates.
pub fn problem(gates: &str, minor: u32) -> Option<String> {
    pairs(gates).find_map(|(name, value)| {
        let gate = GATES.iter().find(|gate| gate.name == name);
        if gate.is_some_and(|gate| minor >= gate.removed_in) {
            return Some(format!("unrecognized feature gate: {name}"));
        }
        let Some(value) = value else {
            return Some(format!("missing bool value for {name}"));
        };
        if !["true", "false"].contains(&value) {
            return Some(format!("invalid value of {name}={value}, err: strconv.ParseBool"));
        }
        let locked = gate.is_some_and(|gate| minor >= gate.locked_from);
        (locked && value == "false")
            .then(|| format!("cannot set feature gate {name} to false, feature is locked to true"))
    })
}

/// Is `name` on?
pub fn enabled(gates: &str, name: &str, minor: u32) -> bool {
    match pairs(gates).filter(|(gate, _)| *gate == name).last() {
        Some((_, value)) => value == Some("true"),
        None => GATES
            .iter()
            .any(|gate| gate.name == name && minor >= gate.on_from),
    }
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
            ("IPv6DualStack=true", 24, None),
            (
                "IPv6DualStack=true",
                25,
                Some("unrecognized feature gate: IPv6DualStack"),
            ),
            ("WindowsHostProcessContainers=true", 27, None),
            (
                "WindowsHostProcessContainers=true",
                28,
                Some("unrecognized feature gate: WindowsHostProcessContainers"),
            ),
            ("WinDSR", 36, Some("missing bool value for WinDSR")),
            (
                "WinDSR=on",
                36,
                Some("invalid value of WinDSR=on, err: strconv.ParseBool"),
            ),
            ("", 36, None),
        ] {
            assert_eq!(problem(gates, minor).as_deref(), expected, "{gates} {minor}");
        }
    }

    #[test]
    fn defaults_by_minor() {
        for (gates, name, minor, expected) in [
            ("", "WinDSR", 32, false),
            ("", "WinDSR", 33, true),
            ("WinDSR=true", "WinDSR", 32, true),
            ("WinDSR=false", "WinDSR", 33, false),
            ("", "WinOverlay", 29, true),
            ("WinOverlay=false", "WinOverlay", 29, false),
        ] {
            assert_eq!(enabled(gates, name, minor), expected, "{gates} {name} {minor}");
        }
    }
}
