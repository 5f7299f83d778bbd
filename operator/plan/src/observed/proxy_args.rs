//! What the arguments of somebody's kube-proxy say about direct server return.

use serde_json::Value;

use super::{items, text};

const FLAG: &str = "enable-dsr";

/// Does the first kube-proxy of a pod spec do DSR? `None` when its arguments do not show it: they come from a
/// script or a configuration file.
pub fn dsr(pod_spec: &Value) -> Option<bool> {
    let container = items(pod_spec, "/containers").find(|c| text(c, "/image").contains("kube-proxy"))?;
    let all = items(container, "/command").chain(items(container, "/args"));
    let all: Vec<&str> = all.filter_map(Value::as_str).collect();
    // A shell has the whole line in one argument.
    let words = || {
        let words = all.iter().flat_map(|arg| arg.split_whitespace());
        words.map(|word| word.trim_matches(['"', '\'', ',', ';']))
    };
    let named = |name: &str| words().any(|word| flag(word).is_some_and(|(flag, _)| flag == name));
    match given(words()) {
        Some(on) => Some(on),
        // With it kube-proxy ignores all other flags.
        None if named("config") => None,
        // Without the flag kube-proxy does no DSR; without any of its flags a script adds them.
        None => named("proxy-mode").then_some(false),
    }
}

/// The same of a node whose kubelet, containerd and kube-proxy are parts of RKE2: it writes its own arguments on its
/// Node (k3s `pkg/nodeconfig`), those for kube-proxy as `--kube-proxy-arg`, `enable-dsr=false`. `None` when they do not
/// name the flag: RKE2 then does DSR where HNS can.
pub fn dsr_of_rke2(annotation: &str) -> Option<bool> {
    const ARGUMENT: &str = "--kube-proxy-arg";
    let words: Vec<String> = serde_json::from_str(annotation).ok()?;
    let pairs = words.iter().zip(words.iter().skip(1));
    let given = pairs.filter(|(name, _)| *name == ARGUMENT);
    given
        .rev()
        .find_map(|(_, argument)| value(argument.trim_start_matches('-')))
}

/// The flag's value among such words, the last where it is there twice.
fn given<'a>(words: impl Iterator<Item = &'a str>) -> Option<bool> {
    words.filter_map(|word| value(word.strip_prefix("--")?)).last()
}

fn value(word: &str) -> Option<bool> {
    let (name, value) = word.split_once('=').unwrap_or((word, "true"));
    if name == FLAG { value.parse().ok() } else { None }
}

fn flag(word: &str) -> Option<(&str, &str)> {
    let flag = word.strip_prefix("--")?;
    Some(flag.split_once('=').unwrap_or((flag, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::on(&["kube-proxy.exe"], &["--proxy-mode=kernelspace", "--enable-dsr=true"], Some(true))]
    #[case::bare(&["kube-proxy.exe"], &["--enable-dsr"], Some(true))]
    #[case::off(&["kube-proxy.exe"], &["--enable-dsr=false"], Some(false))]
    #[case::last_wins(&[], &["--enable-dsr=true", "--enable-dsr=false"], Some(false))]
    #[case::not_named(&["kube-proxy.exe"], &["--proxy-mode=kernelspace", "--v=4"], Some(false))]
    #[case::mode_apart(&["kube-proxy.exe"], &["--proxy-mode", "kernelspace"], Some(false))]
    #[case::in_a_line(&["powershell", "-c", "& ./kube-proxy.exe '--proxy-mode=kernelspace' \"--enable-dsr=true\";"], &[], Some(true))]
    #[case::script(&["powershell", "-file", "C:/kube-proxy/start.ps1"], &[], None)]
    #[case::config(&["kube-proxy.exe"], &["--config=C:/k/config.conf", "--proxy-mode=kernelspace"], None)]
    #[case::nonsense(&["kube-proxy.exe"], &["--enable-dsr=maybe", "--v=2"], None)]
    fn arguments(#[case] command: &[&str], #[case] args: &[&str], #[case] expected: Option<bool>) {
        let spec = json!({"containers": [
            {"image": "example/sidecar", "args": ["--enable-dsr=true"]},
            {"image": "example/kube-proxy:v1.33.4", "command": command, "args": args},
        ]});
        assert_eq!(dsr(&spec), expected);
    }

    #[rstest]
    #[case(r#"["agent","--kube-proxy-arg","enable-dsr=false"]"#, Some(false))]
    #[case(
        r#"["agent","--kube-proxy-arg","--enable-dsr=true","--kube-proxy-arg","v=2"]"#,
        Some(true)
    )]
    #[case(r#"["agent","--kubelet-arg","enable-dsr=false"]"#, None)]
    #[case("[1]", None)]
    #[case("", None)]
    fn of_rke2(#[case] annotation: &str, #[case] expected: Option<bool>) {
        assert_eq!(dsr_of_rke2(annotation), expected);
    }
}
