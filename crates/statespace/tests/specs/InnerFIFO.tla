------------------------------ MODULE InnerFIFO ------------------------------
\* A buffer between two channels: the channels are instances of another module.
EXTENDS Naturals, Sequences
CONSTANTS Message, Size
VARIABLES in, out, q
InChan == INSTANCE Channel WITH Data <- Message, chan <- in
OutChan == INSTANCE Channel WITH Data <- Message, chan <- out
Init == InChan!Init /\ OutChan!Init /\ q = <<>>
TypeOK == InChan!TypeOK /\ OutChan!TypeOK /\ q \in Seq(Message)
SSend(m) == InChan!Send(m) /\ UNCHANGED <<out, q>>
BufRcv == InChan!Receive /\ q' = Append(q, in.val) /\ UNCHANGED out
BufSend == q # <<>> /\ OutChan!Send(Head(q)) /\ q' = Tail(q) /\ UNCHANGED in
RRcv == OutChan!Receive /\ UNCHANGED <<in, q>>
Next == (\E m \in Message : SSend(m)) \/ BufRcv \/ BufSend \/ RRcv
Spec == Init /\ [][Next]_<<in, out, q>>
Small == Len(q) <= Size
==============================================================================
