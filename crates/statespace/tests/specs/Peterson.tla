------------------------------ MODULE Peterson ------------------------------
\* Peterson's mutual exclusion for two processes, one step at a time.
EXTENDS Naturals
VARIABLES pc, flag, turn
vars == <<pc, flag, turn>>
Other(p) == 1 - p
Init == pc = [p \in {0, 1} |-> "idle"] /\ flag = [p \in {0, 1} |-> FALSE] /\ turn = 0
Want(p) == pc[p] = "idle" /\ flag' = [flag EXCEPT ![p] = TRUE]
           /\ pc' = [pc EXCEPT ![p] = "wanting"] /\ UNCHANGED turn
Yield(p) == pc[p] = "wanting" /\ turn' = Other(p)
            /\ pc' = [pc EXCEPT ![p] = "waiting"] /\ UNCHANGED flag
Enter(p) == pc[p] = "waiting" /\ (~flag[Other(p)] \/ turn = p)
            /\ pc' = [pc EXCEPT ![p] = "critical"] /\ UNCHANGED <<flag, turn>>
Leave(p) == pc[p] = "critical" /\ flag' = [flag EXCEPT ![p] = FALSE]
            /\ pc' = [pc EXCEPT ![p] = "idle"] /\ UNCHANGED turn
Step(p) == Want(p) \/ Yield(p) \/ Enter(p) \/ Leave(p)
Next == \E p \in {0, 1} : Step(p)
Spec == Init /\ [][Next]_vars /\ \A p \in {0, 1} : WF_vars(Yield(p) \/ Enter(p) \/ Leave(p))
Exclusion == ~(pc[0] = "critical" /\ pc[1] = "critical")
Served == \A p \in {0, 1} : pc[p] = "wanting" ~> pc[p] = "critical"
==============================================================================
