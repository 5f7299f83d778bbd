use super::election::{Election, Record, Step};
use super::*;

const ME: &str = "pod-a";

fn record(version: u32, holder: &str) -> Record {
    Record {
        version: version.to_string(),
        holder: holder.to_owned(),
        duration: DURATION,
        ..Record::default()
    }
}

fn after(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

/// When a candidate would take what it saw at the start, in seconds; `None` if it waits for something to be seen.
fn takes_after(seen: Option<Record>, first: bool) -> u64 {
    let start = Instant::now();
    let mut election = Election::new(ME.to_owned());
    if !first {
        election.noticed(Some(record(7, "pod-b")), start);
    }
    election.noticed(seen, start);
    match election.step(start) {
        Step::Wait(Some(at)) => at.duration_since(start).as_secs(),
        Step::Create | Step::Replace(_) => 0,
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_lease_is_taken_when_its_holder_cannot_write_any_more() {
    let long = |seconds| Record {
        duration: Duration::from_secs(seconds),
        ..record(8, "pod-b")
    };
    let cases = [
        ("there is none, at the start", None, true, 0),
        ("it vanished: its holder may not know yet", None, false, 12),
        ("given up", Some(record(8, "")), false, 0),
        ("given up before this process began", Some(record(8, "")), true, 0),
        (
            "held by a process of this name that ended",
            Some(record(8, ME)),
            true,
            0,
        ),
        (
            "held by this process according to etcd, which was restored",
            Some(record(3, ME)),
            false,
            12,
        ),
        (
            "given up once, but etcd was restored",
            Some(record(3, "")),
            false,
            12,
        ),
        ("held", Some(record(8, "pod-b")), true, 12),
        ("held for longer", Some(long(30)), true, 30),
        (
            "held for a second: nobody's clock is that good",
            Some(long(1)),
            true,
            12,
        ),
        ("held for a year", Some(long(31_000_000)), true, 60),
    ];
    for (what, seen, first, expected) in cases {
        assert_eq!(takes_after(seen, first), expected, "{what}");
    }
}

#[test]
fn nothing_is_done_before_the_lease_was_seen() {
    let mut election = Election::new(ME.to_owned());
    assert_eq!(election.step(Instant::now()), Step::Wait(None));
}

/// A lease that its holder renews in time is waited for again.
#[test]
fn a_renewed_lease_is_not_taken() {
    let start = Instant::now();
    let mut election = Election::new(ME.to_owned());
    for renewal in 0..5 {
        let now = after(start, u64::from(renewal) * 3);
        election.noticed(Some(record(10 + renewal, "pod-b")), now);
        assert_eq!(election.step(now), Step::Wait(Some(now + DURATION)));
    }
    // A relist that returns the same version is not a renewal.
    election.noticed(Some(record(14, "pod-b")), after(start, 20));
    assert_eq!(
        election.step(after(start, 24)),
        Step::Replace(record(14, "pod-b"))
    );
}

fn leader(start: Instant) -> Election {
    let mut election = Election::new(ME.to_owned());
    election.noticed(None, start);
    assert_eq!(election.step(start), Step::Create);
    election.won(record(1, ME), start);
    election
}

#[test]
fn a_leader_renews_and_loses_what_it_cannot_renew() {
    let start = Instant::now();
    let mut election = leader(start);
    assert_eq!(election.held_until(), Some(start + DURATION));
    assert_eq!(election.step(start), Step::Wait(Some(start + RENEWAL)));
    assert_eq!(election.step(after(start, 3)), Step::Replace(record(1, ME)));
    // The answer is late: the lease counts from the time when the request was sent.
    election.won(record(2, ME), after(start, 3));
    assert_eq!(election.held_until(), Some(after(start, 15)));
    for second in 6..15 {
        let now = after(start, second);
        assert_eq!(election.step(now), Step::Replace(record(2, ME)), "{second}");
        election.failed(now);
        assert_eq!(election.step(now), Step::Wait(Some(now + RETRY)));
    }
    assert_eq!(election.step(after(start, 15)), Step::Read);
    assert_eq!(election.held_until(), None);
    // The process was suspended for a minute, as by SIGSTOP: another replica holds the lease.
    election.read(Some(record(9, "pod-b")), after(start, 60));
    assert_eq!(
        election.step(after(start, 60)),
        Step::Wait(Some(after(start, 72)))
    );
}

/// A snapshot of the cluster's etcd is restored. The leader finds its own older version; another replica may
/// only see what the leader stores next.
#[test]
fn a_restored_cluster_is_noticed_by_every_replica() {
    let start = Instant::now();
    let mut election = leader(start);
    election.won(record(40, ME), after(start, 3));
    assert_eq!(election.history(), (0, 0));
    election.lost_race();
    election.read(Some(record(30, ME)), after(start, 6));
    assert_eq!(election.history(), (1, 1));
    let stored = Record {
        history: 1,
        ..record(31, ME)
    };
    election.won(stored.clone(), after(start, 6));
    assert_eq!(election.history(), (1, 1), "once");

    for seen in [vec![stored.clone()], vec![record(30, ME), stored]] {
        let mut other = Election::new("pod-b".to_owned());
        other.noticed(Some(record(29, ME)), start);
        assert_eq!(other.history(), (0, 0));
        for record in seen {
            other.noticed(Some(record), after(start, 6));
        }
        assert_eq!(other.history(), (1, 1));
    }
}

/// The request was stored, but the answer was lost: the next renewal finds a newer version of its own.
#[test]
fn a_lost_answer_costs_no_lease() {
    let start = Instant::now();
    let mut election = leader(start);
    let now = after(start, 3);
    election.failed(now);
    let now = now + RETRY;
    assert_eq!(election.step(now), Step::Replace(record(1, ME)));
    election.lost_race();
    assert_eq!(election.step(now), Step::Read);
    election.read(Some(record(2, ME)), now);
    assert_eq!(election.held_until(), Some(start + DURATION));
    assert_eq!(election.step(now), Step::Replace(record(2, ME)));
}

#[test]
fn what_a_watch_says_late_takes_no_lease_away() {
    let start = Instant::now();
    let mut election = leader(start);
    election.noticed(Some(record(1, ME)), start);
    assert_eq!(election.step(start), Step::Wait(Some(start + RENEWAL)));
    election.noticed(Some(record(0, "pod-b")), start);
    assert_eq!(election.step(start), Step::Read);
    election.read(Some(record(1, ME)), start);
    assert_eq!(election.held_until(), Some(start + DURATION));
}

/// A person deletes the Lease: the leader is the first to create it again.
#[test]
fn a_deleted_lease_stays_with_its_holder() {
    let start = Instant::now();
    let mut election = leader(start);
    let now = after(start, 1);
    election.noticed(None, now);
    assert_eq!(election.step(now), Step::Read);
    election.read(None, now);
    assert_eq!(election.step(now), Step::Create);
    election.won(record(5, ME), now);
    assert_eq!(election.held_until(), Some(now + DURATION));
}

#[test]
fn no_write_begins_when_the_lease_is_about_to_end() {
    let leadership = Leadership::default();
    assert!(leadership.write().is_err() && leadership.term().is_none());
    leadership.set(Some(Instant::now() + SPARE));
    assert!(leadership.write().is_err() && leadership.term().is_none());
    leadership.set(Some(Instant::now() + SPARE + Duration::from_secs(5)));
    let (_write, left) = leadership.write().unwrap();
    assert!(left <= Duration::from_secs(5));
    assert_eq!(leadership.term(), Some(1));
    leadership.set(None);
    leadership.set(Some(Instant::now() + DURATION));
    assert_eq!(leadership.term(), Some(2), "others may have written in between");
}

#[tokio::test]
async fn closing_waits_for_writes_under_way() {
    let leadership = Leadership::alone();
    let (write, _) = leadership.write().unwrap();
    let pause = Duration::from_millis(50);
    assert!(tokio::time::timeout(pause, leadership.close()).await.is_err());
    assert!(leadership.write().is_err());
    drop(write);
    assert!(tokio::time::timeout(pause, leadership.close()).await.unwrap());
}

#[tokio::test]
async fn a_client_without_the_lease_only_reads_and_runs_for_it() {
    let (client, calls) = crate::fake::client(|_| (200, serde_json::json!({})));
    let leadership = Arc::new(Leadership::default());
    let client = Fenced::client(client, leadership.clone());
    let send = async |method: &str, path: &str| {
        let request = axum::http::Request::builder().method(method).uri(path);
        client
            .send(request.body(kube::client::Body::empty()).unwrap())
            .await
    };
    let node = "/api/v1/nodes/n";
    let lease = "/apis/coordination.k8s.io/v1/namespaces/ours/leases/x";
    assert!(send("GET", node).await.is_ok() && send("PUT", lease).await.is_ok());
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let error = send(method, node).await.unwrap_err().to_string();
        assert!(error.contains("does not hold the lease"), "{error}");
    }
    assert_eq!(calls.all().len(), 2);
    leadership.set(Some(Instant::now() + DURATION));
    assert!(send("PATCH", node).await.is_ok());
}
