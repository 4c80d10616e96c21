--------------------------- MODULE AlternatingBit ---------------------------
\* Messages over a channel that loses them, kept apart by one bit.
EXTENDS Naturals, Sequences
CONSTANTS Data, Longest
VARIABLES sent, sBit, received, rBit, forth, back
vars == <<sent, sBit, received, rBit, forth, back>>
Init == /\ sent \in Data /\ received = sent
        /\ sBit = 0 /\ rBit = 0
        /\ forth = <<>> /\ back = <<>>
NewValue == /\ sBit = rBit /\ forth = <<>> /\ back = <<>>
            /\ \E d \in Data : sent' = d
            /\ sBit' = 1 - sBit
            /\ UNCHANGED <<received, rBit, forth, back>>
Send == /\ sBit # rBit
        /\ forth' = Append(forth, <<sent, sBit>>)
        /\ UNCHANGED <<sent, sBit, received, rBit, back>>
Receive == /\ forth # <<>>
           /\ LET m == Head(forth)
              IN  IF m[2] # rBit THEN received' = m[1] /\ rBit' = m[2] ELSE UNCHANGED <<received, rBit>>
           /\ forth' = Tail(forth)
           /\ back' = Append(back, rBit')
           /\ UNCHANGED <<sent, sBit>>
Acknowledged == /\ back # <<>>
                /\ back' = Tail(back)
                /\ UNCHANGED <<sent, sBit, received, rBit, forth>>
Lose == \/ forth # <<>> /\ forth' = Tail(forth) /\ UNCHANGED <<sent, sBit, received, rBit, back>>
        \/ back # <<>> /\ back' = Tail(back) /\ UNCHANGED <<sent, sBit, received, rBit, forth>>
Next == NewValue \/ Send \/ Receive \/ Acknowledged \/ Lose
Spec == Init /\ [][Next]_vars
Short == Len(forth) <= Longest /\ Len(back) <= Longest
Delivered == (sBit = rBit) => (sent = received)
==============================================================================
