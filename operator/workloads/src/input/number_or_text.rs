//! Fields of Calico's API that are a number or a text (libcalico-go `numorstring`).

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error};

/// A port: a range of numbers (one number: both ends) or a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Port {
    /// First and last port.
    Range(u16, u16),
    /// Name of a port of a container.
    Named(String),
}

/// A protocol by number or by name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Protocol {
    Number(u8),
    Name(String),
}

/// A number or a text, such as a port of a Service.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(untagged, expecting = "a number or a text")]
pub enum NumberOrText {
    Number(i64),
    Text(String),
}

impl Port {
    /// Reads `80`, `80:90` or `http`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let number = |s: &str| s.parse::<u16>().map_err(|_| format!("{s} is no port number"));
        if digits(text) {
            let port = number(text)?;
            return Ok(Self::Range(port, port));
        }
        if let Some((low, high)) = text.split_once(':').filter(|(l, h)| digits(l) && digits(h)) {
            let (low, high) = (number(low)?, number(high)?);
            return if low <= high {
                Ok(Self::Range(low, high))
            } else {
                Err(format!("the port range {text} ends before it begins"))
            };
        }
        let of_name = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        if (1..=128).contains(&text.len()) && text.bytes().all(of_name) {
            return Ok(Self::Named(text.to_owned()));
        }
        Err(format!(
            "{text:?} is neither a port, nor a range such as 80:90, nor a name"
        ))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(low, high) if low == high => write!(f, "{low}"),
            Self::Range(low, high) => write!(f, "{low}:{high}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(number) => u16::try_from(number)
                .map(|port| Self::Range(port, port))
                .map_err(|_| D::Error::custom(format!("{number} is no port number"))),
            NumberOrText::Text(text) => Self::parse(&text).map_err(D::Error::custom),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(number) => u8::try_from(number)
                .map(Self::Number)
                .map_err(|_| D::Error::custom(format!("{number} is no protocol number (1 to 255)"))),
            NumberOrText::Text(text) => Ok(text.parse().map(Self::Number).unwrap_or(Self::Name(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("80", Some(Port::Range(80, 80)))]
    #[case("80:90", Some(Port::Range(80, 90)))]
    #[case("http", Some(Port::Named("http".to_owned())))]
    #[case("90:80", None)]
    #[case("65536", None)]
    #[case("", None)]
    #[case("a b", None)]
    fn reads_ports(#[case] text: &str, #[case] port: Option<Port>) {
        assert_eq!(Port::parse(text).ok(), port);
    }

    #[test]
    fn a_protocol_written_as_text_may_be_a_number() {
        let read = |text| serde_json::from_str::<Protocol>(text).ok();
        assert_eq!(read("\"47\""), Some(Protocol::Number(47)));
        assert_eq!(read("6"), Some(Protocol::Number(6)));
        assert_eq!(read("\"TCP\""), Some(Protocol::Name("TCP".to_owned())));
        assert_eq!(read("300"), None);
    }
}
