//! "did you mean": the nearest of the names that would have been right.

/// A hint naming the candidate nearest to `name`, if one is near enough to be a slip of the finger.
pub(super) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|c| format!("did you mean \"{c}\"?"))
}

fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count() / 3;
    let near = candidates.into_iter().map(|c| (distance(name, c), c)).filter(|(d, _)| (1..=limit).contains(d));
    near.min().map(|(_, c)| c)
}

/// Number of letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn only_near_names_are_offered() {
        let names = ["balance", "id", "owner"];
        assert_eq!(did_you_mean("balnace", names).as_deref(), Some("did you mean \"balance\"?"));
        assert_eq!(did_you_mean("price", names), None);
        assert_eq!(did_you_mean("id", names), None);
        assert_eq!(did_you_mean("ix", names), None);
    }
}
