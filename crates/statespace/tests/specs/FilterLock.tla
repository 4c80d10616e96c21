----------------------------- MODULE FilterLock -----------------------------
\* Peterson's lock for N processes: N - 1 rooms, in each of which one is left behind.
EXTENDS Naturals
CONSTANT N
VARIABLES pc, level, last
vars == <<pc, level, last>>
Proc == 1..N
TypeOK == /\ pc \in [Proc -> {"idle", "enter", "wait", "critical"}]
          /\ level \in [Proc -> 0..N - 1]
          /\ last \in [1..N - 1 -> 0..N]
Init == /\ pc = [p \in Proc |-> "idle"]
        /\ level = [p \in Proc |-> 0]
        /\ last = [l \in 1..N - 1 |-> 0]
Start(p) == /\ pc[p] = "idle"
            /\ pc' = [pc EXCEPT ![p] = "enter"]
            /\ level' = [level EXCEPT ![p] = 1]
            /\ UNCHANGED last
Enter(p) == /\ pc[p] = "enter"
            /\ last' = [last EXCEPT ![level[p]] = p]
            /\ pc' = [pc EXCEPT ![p] = "wait"]
            /\ UNCHANGED level
Pass(p) == /\ pc[p] = "wait"
           /\ \/ last[level[p]] # p
              \/ \A q \in Proc \ {p} : level[q] < level[p]
           /\ IF level[p] = N - 1
              THEN pc' = [pc EXCEPT ![p] = "critical"] /\ UNCHANGED level
              ELSE /\ pc' = [pc EXCEPT ![p] = "enter"]
                   /\ level' = [level EXCEPT ![p] = @ + 1]
           /\ UNCHANGED last
Leave(p) == /\ pc[p] = "critical"
            /\ pc' = [pc EXCEPT ![p] = "idle"]
            /\ level' = [level EXCEPT ![p] = 0]
            /\ UNCHANGED last
Next == \E p \in Proc : Start(p) \/ Enter(p) \/ Pass(p) \/ Leave(p)
Spec == Init /\ [][Next]_vars
Exclusion == \A p, q \in Proc : p # q => ~(pc[p] = "critical" /\ pc[q] = "critical")
==============================================================================
