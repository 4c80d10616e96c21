---- MODULE Owners ----
\* One of many processes that are alike owns what all of them want.
EXTENDS Naturals, FiniteSets, TLC
CONSTANT P
VARIABLES st, owner
Perms == Permutations(P)
Init == st = [p \in P |-> "idle"] /\ owner = {}
Try(p) == st[p] = "idle" /\ st' = [st EXCEPT ![p] = "try"] /\ UNCHANGED owner
Get(p) == st[p] = "try" /\ owner = {} /\ owner' = {p} /\ st' = [st EXCEPT ![p] = "own"]
Rel(p) == st[p] = "own" /\ owner' = {} /\ st' = [st EXCEPT ![p] = "idle"]
Next == \E p \in P : Try(p) \/ Get(p) \/ Rel(p)
Spec == Init /\ [][Next]_<<st, owner>> /\ \A p \in P : SF_<<st, owner>>(Get(p)) /\ WF_<<st, owner>>(Rel(p))
Live == \A p \in P : st[p] = "try" ~> st[p] = "own"
Mutex == Cardinality(owner) <= 1
====
