//! Parses the command line and hands over; everything else lives in the crates below.

fn main() -> anyhow::Result<()> {
    wn_runtime::main()
}
