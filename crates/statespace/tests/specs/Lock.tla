-------------------------------- MODULE Lock --------------------------------
\* Processes that ask for a lock, enter their critical section one at a time, and leave it.
CONSTANT Proc
VARIABLES pc, queue, busy
vars == <<pc, queue, busy>>

TypeOK == /\ pc \in [Proc -> {"idle", "wait", "crit"}]
          /\ queue \in SUBSET Proc
          /\ busy \in BOOLEAN

Init == pc = [p \in Proc |-> "idle"] /\ queue = {} /\ busy = FALSE

Ask(p) == pc[p] = "idle" /\ pc' = [pc EXCEPT ![p] = "wait"]
          /\ queue' = queue \cup {p} /\ UNCHANGED busy

Enter(p) == pc[p] = "wait" /\ ~busy /\ pc' = [pc EXCEPT ![p] = "crit"]
            /\ queue' = queue \ {p} /\ busy' = TRUE

Leave(p) == pc[p] = "crit" /\ pc' = [pc EXCEPT ![p] = "idle"]
            /\ busy' = FALSE /\ UNCHANGED queue

\* Nobody is ever in the critical section of a lock that is free.
Crash(p) == pc[p] = "crit" /\ ~busy /\ pc' = [pc EXCEPT ![p] = "idle"]
            /\ UNCHANGED <<queue, busy>>

Next == \E p \in Proc : Ask(p) \/ Enter(p) \/ Leave(p) \/ Crash(p)

Spec == Init /\ [][Next]_vars

Exclusion == \A p, q \in Proc : p # q => ~(pc[p] = "crit" /\ pc[q] = "crit")
=============================================================================
