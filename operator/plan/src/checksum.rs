//! A checksum that is the same on every build of the operator: a changed one rolls every node, so the
//! standard library's hasher, free to change with the compiler, will not do. FNV-1a, 64 bits.

/// Checksum of the parts in order, as 16 hexadecimal digits.
pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    format!("{:016x}", number(parts))
}

/// Checksum of the parts in order.
pub fn number<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        // The length keeps `a`+`bc` apart from `ab`+`c`.
        let length = (part.len() as u64).to_le_bytes();
        for byte in length.into_iter().chain(part.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn is_stable_and_sees_every_byte() {
        assert_eq!(of([]), "cbf29ce484222325");
        assert_eq!(of(["a", "b"]), of(["a", "b"]));
        assert_ne!(of(["a", "bc"]), of(["ab", "c"]));
        assert_ne!(of(["a", "b"]), of(["a", "B"]));
    }
}
