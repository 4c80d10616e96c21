---------------------------- MODULE Philosophers ----------------------------
\* Each takes the left fork first: all of them may starve together.
EXTENDS Naturals
CONSTANT N
VARIABLES fork, state
Phil == 0..N - 1
Right(p) == (p + 1) % N
Init == fork = [p \in Phil |-> N] /\ state = [p \in Phil |-> "thinks"]
TakeLeft(p) == state[p] = "thinks" /\ fork[p] = N
               /\ fork' = [fork EXCEPT ![p] = p] /\ state' = [state EXCEPT ![p] = "waits"]
TakeRight(p) == state[p] = "waits" /\ fork[Right(p)] = N
                /\ fork' = [fork EXCEPT ![Right(p)] = p] /\ state' = [state EXCEPT ![p] = "eats"]
Finish(p) == state[p] = "eats"
             /\ fork' = [fork EXCEPT ![p] = N, ![Right(p)] = N]
             /\ state' = [state EXCEPT ![p] = "thinks"]
Next == \E p \in Phil : TakeLeft(p) \/ TakeRight(p) \/ Finish(p)
Spec == Init /\ [][Next]_<<fork, state>>
Apart == \A p \in Phil : state[p] = "eats" => state[Right(p)] # "eats"
==============================================================================
