------------------------------ MODULE Elevator ------------------------------
\* One cabin, calls from every floor; with an operator as an argument.
EXTENDS Naturals, FiniteSets
CONSTANT Floors
VARIABLES floor, goingUp, calls, doors
vars == <<floor, goingUp, calls, doors>>
Floor == 1..Floors
TypeOK == floor \in Floor /\ goingUp \in BOOLEAN /\ calls \subseteq Floor /\ doors \in {"open", "shut"}
Init == floor = 1 /\ goingUp = TRUE /\ calls = {} /\ doors = "shut"
Some(S, P(_)) == \E x \in S : P(x)
Above == Some(calls, LAMBDA f : f > floor)
Below == Some(calls, LAMBDA f : f < floor)
Call(f) == f \notin calls /\ f # floor /\ calls' = calls \cup {f} /\ UNCHANGED <<floor, goingUp, doors>>
Open == floor \in calls /\ doors = "shut" /\ doors' = "open" /\ calls' = calls \ {floor} /\ UNCHANGED <<floor, goingUp>>
Shut == doors = "open" /\ doors' = "shut" /\ UNCHANGED <<floor, goingUp, calls>>
Move == /\ doors = "shut" /\ floor \notin calls
        /\ IF goingUp THEN Above /\ floor' = floor + 1 ELSE Below /\ floor' = floor - 1
        /\ UNCHANGED <<goingUp, calls, doors>>
Turn == /\ doors = "shut" /\ floor \notin calls
        /\ IF goingUp THEN ~Above /\ Below ELSE ~Below /\ Above
        /\ goingUp' = ~goingUp /\ UNCHANGED <<floor, calls, doors>>
Next == (\E f \in Floor : Call(f)) \/ Open \/ Shut \/ Move \/ Turn
Spec == Init /\ [][Next]_vars /\ WF_vars(Open) /\ WF_vars(Shut) /\ WF_vars(Move) /\ WF_vars(Turn)
Answered == \A f \in Floor : f \in calls ~> floor = f /\ doors = "open"
==============================================================================
