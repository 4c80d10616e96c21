------------------------------- MODULE Channel -------------------------------
\* A sender and a receiver that take turns, with a record for the wires.
EXTENDS Naturals
CONSTANT Data
VARIABLE chan
TypeOK == chan \in [val : Data, rdy : {0, 1}, ack : {0, 1}]
Init == TypeOK /\ chan.ack = chan.rdy
Send(d) == /\ chan.rdy = chan.ack
           /\ chan' = [chan EXCEPT !.val = d, !.rdy = 1 - @]
Receive == /\ chan.rdy # chan.ack
           /\ chan' = [chan EXCEPT !.ack = 1 - @]
Next == (\E d \in Data : Send(d)) \/ Receive
Spec == Init /\ [][Next]_chan
==============================================================================
