//! The choice of a bucket for each message that is fetched.

/// Assigns each message one of its buckets, so that no bucket has two. A message whose buckets are taken can move others
/// to another of theirs. Messages come in the order of their importance: a message that finds no bucket, even so, is left
/// out, and takes none from an earlier one.
///
/// Shape: for each message its buckets, below `buckets`; out for each bucket the number of its message.
pub fn assign(buckets: usize, messages: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut owners = vec![None; buckets];
    for message in 0..messages.len() {
        let mut visited = vec![false; buckets];
        place(message, messages, &mut owners, &mut visited);
    }
    owners
}

/// Finds a bucket for a message by moving others. Returns whether there was one.
fn place(
    message: usize,
    messages: &[Vec<usize>],
    owners: &mut [Option<usize>],
    visited: &mut [bool],
) -> bool {
    for &bucket in &messages[message] {
        if std::mem::replace(&mut visited[bucket], true) {
            continue;
        }
        let is_free = match owners[bucket] {
            None => true,
            Some(other) => place(other, messages, owners, visited),
        };
        if is_free {
            owners[bucket] = Some(message);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_moves_others_and_takes_no_bucket_from_them() {
        // The third message fits if the first one moves to bucket 2.
        let messages = [vec![0, 2], vec![1], vec![0, 1]];
        assert_eq!(assign(3, &messages), [Some(2), Some(1), Some(0)]);
        // Three messages of two buckets: the last is left out.
        let crowded = [vec![0, 1], vec![1, 0], vec![0, 1], vec![2]];
        let owners = assign(4, &crowded);
        assert!(!owners.contains(&Some(2)));
        assert_eq!(owners[2..], [Some(3), None]);
    }
}
