------------------------------ MODULE TokenRing ------------------------------
\* Dijkstra's self-stabilising ring with K states, from any start.
EXTENDS Naturals, FiniteSets
CONSTANTS N, K
VARIABLE c
Node == 0..N - 1
TypeOK == c \in [Node -> 0..K - 1]
Init == c \in [Node -> 0..K - 1]
Privileged(i) == IF i = 0 THEN c[0] = c[N - 1] ELSE c[i] # c[i - 1]
First == c[0] = c[N - 1] /\ c' = [c EXCEPT ![0] = (@ + 1) % K]
Other(i) == c[i] # c[i - 1] /\ c' = [c EXCEPT ![i] = c[i - 1]]
Next == First \/ \E i \in 1..N - 1 : Other(i)
Spec == Init /\ [][Next]_c /\ WF_c(Next)
One == Cardinality({i \in Node : Privileged(i)}) = 1
Some == \E i \in Node : Privileged(i)
Stabilises == <>[]One
==============================================================================
