------------------------------- MODULE Counter -------------------------------
\* Nothing says how far it counts; a sequence that grows keeps what was counted.
EXTENDS Integers, Sequences
VARIABLES n, seen
Square[k \in Nat] == IF k = 0 THEN 0 ELSE Square[k - 1] + 2 * k - 1
Init == n = -2 /\ seen = <<>>
Count == n < 40 /\ n' = n + 3 /\ seen' = IF n % 2 = 0 THEN Append(seen, n) ELSE seen
Forget == seen # <<>> /\ seen' = Tail(seen) /\ n' = n
Next == Count \/ Forget
Spec == Init /\ [][Next]_<<n, seen>>
Fine == Len(seen) <= 8 /\ \A i \in 1..Len(seen) : Square[IF seen[i] < 0 THEN 0 ELSE seen[i]] >= seen[i]
==============================================================================
