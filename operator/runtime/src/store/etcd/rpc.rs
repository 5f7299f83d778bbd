//! The part of etcd's API that is used: Range, Txn and Watch (etcd `api/etcdserverpb/rpc.proto`, `api/mvccpb/kv.proto`).
//! Written by hand, because what would generate it needs protoc on the machine that builds (docs/adr/0007).

use std::time::Duration;

use axum::http::uri::PathAndQuery;
use futures::StreamExt;
use prost::{Message, Oneof};
use tonic::client::Grpc;
use tonic::codec::Streaming;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, Message, PartialEq)]
pub struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub mod_revision: i64,
    /// Writes since the key was made.
    #[prost(int64, tag = "4")]
    pub version: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub value: Vec<u8>,
}

#[derive(Clone, Copy, Message, PartialEq)]
pub struct ResponseHeader {
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

#[derive(Clone, Message, PartialEq)]
pub struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub limit: i64,
    #[prost(int64, tag = "4")]
    pub revision: i64,
}

#[derive(Clone, Message, PartialEq)]
pub struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub more: bool,
}

#[derive(Clone, Message, PartialEq)]
pub struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, Message, PartialEq)]
pub struct DeleteRangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

#[derive(Clone, Oneof, PartialEq)]
pub enum Operation {
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    Delete(DeleteRangeRequest),
}

#[derive(Clone, Message, PartialEq)]
pub struct RequestOp {
    #[prost(oneof = "Operation", tags = "2, 3")]
    pub operation: Option<Operation>,
}

/// The result that is left out is `EQUAL`.
#[derive(Clone, Message, PartialEq)]
pub struct Compare {
    #[prost(int32, tag = "2")]
    pub target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    #[prost(int64, optional, tag = "4")]
    pub version: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub mod_revision: Option<i64>,
}

/// Values of `Compare.target`.
pub const VERSION: i32 = 0;
pub const MOD: i32 = 2;

#[derive(Clone, Message, PartialEq)]
pub struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
}

#[derive(Clone, Copy, Message, PartialEq)]
pub struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
}

#[derive(Clone, Message, PartialEq)]
pub struct WatchCreateRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
    #[prost(bool, tag = "4")]
    pub progress_notify: bool,
}

#[derive(Clone, Message, PartialEq)]
pub struct WatchRequest {
    /// One of the three kinds of request; the others are not used.
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreateRequest>,
}

#[derive(Clone, Message, PartialEq)]
pub struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bool, tag = "4")]
    pub canceled: bool,
    #[prost(int64, tag = "5")]
    pub compact_revision: i64,
    #[prost(string, tag = "6")]
    pub cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<Event>,
}

#[derive(Clone, Message, PartialEq)]
pub struct Event {
    /// 0 put, 1 deleted.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

pub const DELETED: i32 = 1;

/// A member that takes longer than this is of no use; etcd's own clients wait as long (Calico, `clientTimeout`).
const PATIENCE: Duration = Duration::from_secs(10);
/// A page of blocks of the largest size Calico knows, and room to spare.
const LARGEST_ANSWER: usize = 32 << 20;

fn grpc(channel: &Channel) -> Grpc<Channel> {
    Grpc::new(channel.clone()).max_decoding_message_size(LARGEST_ANSWER)
}

async fn unary<Q, A>(channel: &Channel, path: &'static str, request: Q) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = grpc(channel);
    let call = async {
        grpc.ready()
            .await
            .map_err(|e| Status::unavailable(e.to_string()))?;
        let codec = ProstCodec::<Q, A>::default();
        grpc.unary(Request::new(request), PathAndQuery::from_static(path), codec)
            .await
    };
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(answer) => Ok(answer?.into_inner()),
        Err(_) => Err(Status::deadline_exceeded("no answer")),
    }
}

pub async fn range(channel: &Channel, request: RangeRequest) -> Result<RangeResponse, Status> {
    unary(channel, "/etcdserverpb.KV/Range", request).await
}

pub async fn txn(channel: &Channel, request: TxnRequest) -> Result<TxnResponse, Status> {
    unary(channel, "/etcdserverpb.KV/Txn", request).await
}

/// Several watches on one stream.
pub async fn watch(
    channel: &Channel,
    watches: Vec<WatchCreateRequest>,
) -> Result<Streaming<WatchResponse>, Status> {
    let mut grpc = grpc(channel);
    let requests = watches
        .into_iter()
        .map(|create| WatchRequest { create: Some(create) });
    // The stream of requests stays open: its end would end the watches.
    let requests = futures::stream::iter(requests).chain(futures::stream::pending());
    let call = async {
        grpc.ready()
            .await
            .map_err(|e| Status::unavailable(e.to_string()))?;
        let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
        grpc.streaming(Request::new(requests), path, ProstCodec::default())
            .await
    };
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(answer) => Ok(answer?.into_inner()),
        Err(_) => Err(Status::deadline_exceeded("no answer")),
    }
}
