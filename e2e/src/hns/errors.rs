//! What HNS says when it does not do something.

use serde_json::json;

/// HRESULTs of `winerror.h`, those that kube-proxy or its library tell apart, or that were reported by users.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HnsError {
    /// `HRESULT_FROM_WIN32(ERROR_NOT_FOUND)`.
    ElementNotFound,
    /// `HRESULT_FROM_WIN32(ERROR_ALREADY_EXISTS)`: a second load balancer with that frontend
    /// (kubernetes/kubernetes#139519).
    AlreadyExists,
    /// `HCN_E_ENDPOINT_NOT_FOUND`.
    EndpointNotFound,
    /// `HCN_E_PORT_ALREADY_EXISTS`: a node port is taken (kubernetes/community#8883).
    PortAlreadyExists,
    /// `HCN_E_INVALID_JSON`.
    InvalidJson,
    /// `HCN_E_ADDR_INVALID_OR_RESERVED`: an address outside of the network's subnet, or taken
    /// (kubernetes/kubernetes#100962).
    AddressInvalidOrReserved,
    /// `HCN_E_REQUEST_UNSUPPORTED`.
    RequestUnsupported,
    /// `E_NOTIMPL`: an older build than the call.
    NotImplemented,
    /// `HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE)`: the service does not run.
    ServerUnavailable,
}

impl HnsError {
    pub fn hresult(self) -> u32 {
        match self {
            Self::ElementNotFound => 0x8007_0490,
            Self::AlreadyExists => 0x8007_00b7,
            Self::EndpointNotFound => 0x803b_0002,
            Self::PortAlreadyExists => 0x803b_0013,
            Self::InvalidJson => 0x803b_001b,
            Self::AddressInvalidOrReserved => 0x803b_002f,
            Self::RequestUnsupported => 0x803b_0015,
            Self::NotImplemented => 0x8000_4001,
            Self::ServerUnavailable => 0x8007_06ba,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::ElementNotFound => "Element not found. ",
            Self::AlreadyExists => "Cannot create a file when that file already exists. ",
            Self::EndpointNotFound => "The endpoint was not found. ",
            Self::PortAlreadyExists => "The specified port already exists. ",
            Self::InvalidJson => "The JSON document is invalid. ",
            Self::AddressInvalidOrReserved => "An address provided is invalid or reserved. ",
            Self::RequestUnsupported => "The request is not supported. ",
            Self::NotImplemented => "Not implemented ",
            Self::ServerUnavailable => "The RPC server is unavailable. ",
        }
    }

    /// The second answer of a call that failed. A service that does not run writes none.
    pub fn record(self) -> Option<String> {
        let record = json!({"Success": false, "Error": self.text(), "ErrorCode": self.hresult()});
        (self != Self::ServerUnavailable).then(|| record.to_string())
    }
}
