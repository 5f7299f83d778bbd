//! Advisories are reported once, and are never a reason not to be ready.

mod limits;
mod observe;
mod reservation;
mod support;
