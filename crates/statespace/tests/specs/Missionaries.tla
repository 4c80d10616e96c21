---------------------------- MODULE Missionaries ----------------------------
\* A boat for two; nowhere may cannibals outnumber missionaries.
EXTENDS Integers, FiniteSets
CONSTANTS M, C
VARIABLES boat, onBank
Banks == {"east", "west"}
Other(b) == IF b = "east" THEN "west" ELSE "east"
TypeOK == boat \in Banks /\ onBank \in [Banks -> SUBSET (M \cup C)]
Init == boat = "east" /\ onBank = [b \in Banks |-> IF b = "east" THEN M \cup C ELSE {}]
Safe(S) == S \cap M = {} \/ Cardinality(S \cap C) <= Cardinality(S \cap M)
Move(S, b) == /\ Cardinality(S) \in {1, 2}
              /\ LET here == onBank[b] \ S
                     there == onBank[Other(b)] \cup S
                 IN  /\ Safe(here) /\ Safe(there)
                     /\ boat' = Other(b)
                     /\ onBank' = [i \in Banks |-> IF i = b THEN here ELSE there]
Next == \E S \in SUBSET onBank[boat] : Move(S, boat)
Spec == Init /\ [][Next]_<<boat, onBank>>
Unsolved == onBank["east"] # {}
==============================================================================
