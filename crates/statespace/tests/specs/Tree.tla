-------------------------------- MODULE Tree --------------------------------
\* A spanning tree grows from a root until every node knows its distance.
EXTENDS Integers, FiniteSets
CONSTANTS Node, Root, Far
VARIABLES mom, dist
vars == <<mom, dist>>
Edge == {{n, m} : n \in Node, m \in Node} \ {{n} : n \in Node}
Near(n) == {m \in Node : {n, m} \in Edge}
Init == mom = [n \in Node |-> n] /\ dist = [n \in Node |-> IF n = Root THEN 0 ELSE Far]
Next == \E n \in Node : \E m \in Near(n) :
           /\ dist[m] < 1 + dist[n] - 1
           /\ \E d \in dist[m] + 1..dist[n] - 1 :
                /\ dist' = [dist EXCEPT ![n] = d]
                /\ mom' = [mom EXCEPT ![n] = m]
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
TypeOK == mom \in [Node -> Node] /\ dist \in [Node -> Nat]
Settles == <>(\A n \in Node : n = Root \/ dist[n] = 1)
==============================================================================
