-------------------------------- MODULE Grid --------------------------------
\* Counters side by side: every state can be reached, and the counts are known.
EXTENDS Naturals
CONSTANTS N, Top
VARIABLE c
TypeOK == c \in [1..N -> 0..Top]
Init == c = [i \in 1..N |-> 0]
Up(i) == c[i] < Top /\ c' = [c EXCEPT ![i] = @ + 1]
Next == \E i \in 1..N : Up(i)
Spec == Init /\ [][Next]_c
==============================================================================
