----------------------------- MODULE Termination -----------------------------
\* Dijkstra, Feijen and van Gasteren: a token goes round to find that all are idle.
EXTENDS Naturals
CONSTANT N
VARIABLES active, color, tpos, tcolor
vars == <<active, color, tpos, tcolor>>
Node == 0..N - 1
Color == {"white", "black"}
TypeOK == /\ active \in [Node -> BOOLEAN] /\ color \in [Node -> Color]
          /\ tpos \in Node /\ tcolor \in Color
Init == /\ active \in [Node -> BOOLEAN] /\ color \in [Node -> Color]
        /\ tpos \in Node /\ tcolor = "black"
InitiateProbe == /\ tpos = 0 /\ (tcolor = "black" \/ color[0] = "black")
                 /\ tpos' = N - 1 /\ tcolor' = "white"
                 /\ color' = [color EXCEPT ![0] = "white"] /\ UNCHANGED active
PassToken(i) == /\ tpos = i /\ (~active[i] \/ color[i] = "black" \/ tcolor = "black")
                /\ tpos' = i - 1
                /\ tcolor' = IF color[i] = "black" THEN "black" ELSE tcolor
                /\ color' = [color EXCEPT ![i] = "white"] /\ UNCHANGED active
SendMsg(i) == /\ active[i]
              /\ \E j \in Node \ {i} :
                    /\ active' = [active EXCEPT ![j] = TRUE]
                    /\ color' = [color EXCEPT ![i] = IF j > i THEN "black" ELSE @]
              /\ UNCHANGED <<tpos, tcolor>>
Deactivate(i) == active[i] /\ active' = [active EXCEPT ![i] = FALSE] /\ UNCHANGED <<color, tpos, tcolor>>
Controlled == InitiateProbe \/ \E i \in Node \ {0} : PassToken(i)
Next == Controlled \/ \E i \in Node : SendMsg(i) \/ Deactivate(i)
Spec == Init /\ [][Next]_vars /\ WF_vars(Controlled)
Detected == tpos = 0 /\ tcolor = "white" /\ color[0] = "white" /\ ~active[0]
Quiet == \A i \in Node : ~active[i]
Sound == Detected => Quiet
Live == Quiet ~> Detected
==============================================================================
