---------------------------- MODULE ChangRoberts ----------------------------
\* The greatest number in a ring becomes the leader.
EXTENDS Naturals, FiniteSets
CONSTANT N
VARIABLES msgs, pc, won
vars == <<msgs, pc, won>>
Node == 1..N
Succ(n) == IF n = N THEN 1 ELSE n + 1
Id == [n \in Node |-> (n * 2) % (N + 1)]
Init == /\ msgs = [n \in Node |-> {}]
        /\ pc = [n \in Node |-> "start"]
        /\ won = [n \in Node |-> FALSE]
Initiate(n) == /\ pc[n] = "start"
               /\ pc' = [pc EXCEPT ![n] = "run"]
               /\ msgs' = [msgs EXCEPT ![Succ(n)] = @ \cup {Id[n]}]
               /\ UNCHANGED won
Receive(n) == \E id \in msgs[n] :
    /\ pc[n] = "run"
    /\ IF id > Id[n]
       THEN /\ msgs' = [msgs EXCEPT ![n] = @ \ {id}, ![Succ(n)] = @ \cup {id}]
            /\ UNCHANGED won
       ELSE /\ msgs' = [msgs EXCEPT ![n] = @ \ {id}]
            /\ won' = [won EXCEPT ![n] = @ \/ id = Id[n]]
    /\ UNCHANGED pc
Next == \E n \in Node : Initiate(n) \/ Receive(n)
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
AtMostOne == Cardinality({n \in Node : won[n]}) <= 1
Greatest == \A n \in Node : won[n] => \A m \in Node : Id[m] <= Id[n]
Elected == <>(\E n \in Node : won[n])
==============================================================================
