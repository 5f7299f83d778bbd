//! How a rule says no.

/// What becomes of the container that fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The runtime cannot make the container.
    Create,
    /// The process exits; the kubelet starts it again after a back-off.
    Exit,
    /// The process tries again and again or waits: it runs, and is not ready.
    Waits,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

impl Failure {
    /// The process ended with these words.
    pub fn exit(words: &str) -> Self {
        Self {
            kind: Kind::Exit,
            message: words.to_owned(),
        }
    }
}

pub type Verdict = Result<(), Failure>;

pub fn refuse(when: bool, kind: Kind, message: impl Into<String>) -> Verdict {
    if when {
        Err(Failure {
            kind,
            message: message.into(),
        })
    } else {
        Ok(())
    }
}

/// client-go on a Windows host, in any of the programs there (`rest.DefaultServerURL`). A host that is
/// absent or empty gives the first message; a ClusterIP answers nothing until kube-proxy runs, and
/// kube-proxy itself needs the API server first.
pub fn api_endpoint(host: &str, cluster_ip: Option<&str>, kind: Kind) -> Verdict {
    let url = format!("https://{host}");
    let malformed = host.is_empty() || host.starts_with(':') || host.contains("://") || host.contains('/');
    refuse(
        malformed,
        kind,
        format!("host must be a URL or a host:port pair: \"{url}\""),
    )?;
    let address = host.rsplit_once(':').map_or(host, |(address, _)| address);
    refuse(
        cluster_ip.is_some_and(|ip| ip == host || ip == address),
        kind,
        format!("Get \"{url}/api\": dial tcp {host}: i/o timeout (a ClusterIP, before kube-proxy)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        for (host, expected) in [
            ("172.20.0.1", None),
            ("172.20.0.1:6443", None),
            ("api.example.com", None),
            ("", Some("host must be a URL or a host:port pair")),
            (":6443", Some("host must be a URL or a host:port pair")),
            (
                "https://api.example.com",
                Some("host must be a URL or a host:port pair"),
            ),
            ("10.96.0.1", Some("i/o timeout")),
            ("10.96.0.1:443", Some("i/o timeout")),
        ] {
            let verdict = api_endpoint(host, Some("10.96.0.1"), Kind::Exit);
            match expected {
                None => assert_eq!(verdict, Ok(()), "{host}"),
                Some(text) => assert!(verdict.unwrap_err().message.contains(text), "{host}"),
            }
        }
    }
}
