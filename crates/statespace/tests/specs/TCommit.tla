------------------------------- MODULE TCommit -------------------------------
\* What a transaction commit should come to, without saying how.
CONSTANT RM
VARIABLE rmState
States == {"working", "prepared", "committed", "aborted"}
TypeOK == rmState \in [RM -> States]
Init == rmState = [r \in RM |-> "working"]
canCommit == \A r \in RM : rmState[r] \in {"prepared", "committed"}
notCommitted == \A r \in RM : rmState[r] # "committed"
Prepare(r) == rmState[r] = "working" /\ rmState' = [rmState EXCEPT ![r] = "prepared"]
Decide(r) == \/ /\ rmState[r] = "prepared"
                /\ canCommit
                /\ rmState' = [rmState EXCEPT ![r] = "committed"]
             \/ /\ rmState[r] \in {"working", "prepared"}
                /\ notCommitted
                /\ rmState' = [rmState EXCEPT ![r] = "aborted"]
Next == \E r \in RM : Prepare(r) \/ Decide(r)
Spec == Init /\ [][Next]_rmState
==============================================================================
