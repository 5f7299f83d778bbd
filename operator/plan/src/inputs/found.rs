//! A value that was found, and what a value must look like to be believed.

use std::net::IpAddr;

use ipnet::Ipv4Net;

/// A value and where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// The value, which has been checked.
    pub value: T,
    /// A field of `spec`, or kind, name and field of the object it was read from.
    pub source: String,
}

impl<T> Found<T> {
    /// A value and where it was found.
    pub fn new(value: T, source: impl Into<String>) -> Self {
        Self {
            value,
            source: source.into(),
        }
    }
}

/// Is it an IPv4 network, written with its own first address?
pub fn is_cidr_v4(text: &str) -> bool {
    text.parse::<Ipv4Net>().is_ok_and(|net| net.trunc() == net)
}

/// Is it an address of either family?
pub fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// A DNS domain as Kubernetes takes it: labels in lower case, no dot at the end.
pub fn is_domain(text: &str) -> bool {
    let label = |l: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=63).contains(&l.len()) && l.chars().all(inner) && !l.starts_with('-') && !l.ends_with('-')
    };
    text.split('.').all(label)
}
