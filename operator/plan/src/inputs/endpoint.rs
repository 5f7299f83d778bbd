//! A host and a port, in the many ways clusters write them down.

use std::fmt;

/// The API server as a Windows node reaches it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Endpoint {
    /// Host name or IP address, IPv6 without brackets.
    pub host: String,
    /// TCP port, 1 to 65535.
    pub port: i32,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl Endpoint {
    /// `https://host:port/path`, `host:port`, `[v6]:port` or a bare host (port `default`).
    pub fn parse(text: &str, default: i32) -> Option<Self> {
        let rest = text
            .trim()
            .split_once("://")
            .map_or(text.trim(), |(_, rest)| rest);
        let authority = rest.split('/').next().filter(|a| !a.is_empty())?;
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, rest) = v6.split_once(']')?;
                (host, rest.strip_prefix(':'))
            }
            None => authority
                .rsplit_once(':')
                .map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => default,
            Some(port) => port.parse().ok().filter(|p| (1..=65535).contains(p))?,
        };
        (!host.is_empty()).then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("https://api.example.com:6443", Some("api.example.com:6443"))]
    #[case("https://api.example.com", Some("api.example.com:443"))]
    #[case("https://10.0.0.1:6443/", Some("10.0.0.1:6443"))]
    #[case("api.example.com:8443", Some("api.example.com:8443"))]
    #[case("[2001:db8::1]:6443", Some("[2001:db8::1]:6443"))]
    #[case("https://:6443", None)]
    #[case("host:0", None)]
    #[case("host:70000", None)]
    #[case("", None)]
    fn parses(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(
            Endpoint::parse(text, 443).map(|e| e.to_string()).as_deref(),
            expected
        );
    }
}
