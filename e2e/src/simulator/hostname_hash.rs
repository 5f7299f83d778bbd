//! The label Calico puts on block affinities since v3.31: base32 without padding of SHA3-256 of the
//! node's name (`api/pkg/apis/projectcalico/v3/constants.go`).

const ROUNDS: usize = 24;
/// Bytes absorbed per permutation by SHA3-256 (FIPS 202, §6.1).
const RATE: usize = 136;
/// FIPS 202, §3.2.2: offsets along the path that rho and pi walk together.
const ROTATIONS: [u32; 24] = [
    1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
];
const LANES: [usize; 24] = [
    10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
];

pub fn hostname_hash(name: &str) -> String {
    base32(&sha3_256(name.as_bytes()))
}

fn sha3_256(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(0x06);
    padded.resize(padded.len().next_multiple_of(RATE), 0);
    if let Some(last) = padded.last_mut() {
        *last |= 0x80;
    }
    let mut state = [0_u64; 25];
    for block in padded.chunks_exact(RATE) {
        for (lane, bytes) in state.iter_mut().zip(block.chunks_exact(8)) {
            *lane ^= bytes
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u64::from(byte));
        }
        permute(&mut state);
    }
    let mut digest = [0; 32];
    for (bytes, lane) in digest.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&lane.to_le_bytes());
    }
    digest
}

fn permute(state: &mut [u64; 25]) {
    // The round constants come out of a shift register of eight bits (§3.2.5).
    let mut register = 1_u8;
    for _ in 0..ROUNDS {
        let mut columns = [0_u64; 5];
        for (x, column) in columns.iter_mut().enumerate() {
            *column = (0..5).fold(0, |parity, y| parity ^ state[x + 5 * y]);
        }
        for (index, lane) in state.iter_mut().enumerate() {
            *lane ^= columns[(index % 5 + 4) % 5] ^ columns[(index % 5 + 1) % 5].rotate_left(1);
        }
        let mut moving = state[1];
        for (&to, &by) in LANES.iter().zip(&ROTATIONS) {
            moving = std::mem::replace(&mut state[to], moving.rotate_left(by));
        }
        for row in state.chunks_exact_mut(5) {
            let before: [u64; 5] = [row[0], row[1], row[2], row[3], row[4]];
            for (x, lane) in row.iter_mut().enumerate() {
                *lane ^= !before[(x + 1) % 5] & before[(x + 2) % 5];
            }
        }
        for bit in 0..7 {
            if register & 1 == 1 {
                state[0] ^= 1 << ((1_u32 << bit) - 1);
            }
            register = register << 1 ^ if register & 0x80 == 0 { 0 } else { 0x71 };
        }
    }
}

fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let mut group = [0_u8; 8];
        group[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(group);
        let characters = (chunk.len() * 8).div_ceil(5);
        text.extend((0..characters).map(|n| char::from(ALPHABET[(bits >> (35 - 5 * n) & 31) as usize])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As libcalico v3.32.1 wrote them.
    #[test]
    fn equals_what_calico_writes() {
        for (name, hash) in [
            ("lin-0", "K4QCQLH4PRDRQVF4U22W7DC7JDMBUDRZZT7XR2CMOKPRYEM76YEQ"),
            ("win-0", "4YSQELMMYYH2N364FXQECURZO2NQKXM6QQFTQ5KCRORQHJIEEH3Q"),
            ("win-1", "DHICJF5B6V3H2GEGGEWOYMDPKFLAVJUWIJV4PMROHESG5YER5JYA"),
        ] {
            assert_eq!(hostname_hash(name), hash, "{name}");
        }
    }
}
