------------------------------ MODULE Majority ------------------------------
\* Boyer and Moore: one pass, one counter, and whoever can have the majority.
EXTENDS Naturals, Sequences, FiniteSets
CONSTANTS Value, Bound
VARIABLES seq, i, cand, cnt
vars == <<seq, i, cand, cnt>>
BoundedSeq(S) == UNION {[1..n -> S] : n \in 0..Bound}
TypeOK == seq \in BoundedSeq(Value) /\ i \in 1..Len(seq) + 1 /\ cand \in Value /\ cnt \in 0..Bound
Init == seq \in BoundedSeq(Value) /\ i = 1 /\ cand \in Value /\ cnt = 0
Next == /\ i <= Len(seq) /\ i' = i + 1 /\ seq' = seq
        /\ \/ cnt = 0 /\ cand' = seq[i] /\ cnt' = 1
           \/ cnt # 0 /\ cand = seq[i] /\ cand' = cand /\ cnt' = cnt + 1
           \/ cnt # 0 /\ cand # seq[i] /\ cand' = cand /\ cnt' = cnt - 1
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
Votes(v) == Cardinality({k \in 1..Len(seq) : seq[k] = v})
Correct == i > Len(seq) => \A v \in Value : 2 * Votes(v) > Len(seq) => v = cand
Ends == <>(i > Len(seq))
==============================================================================
