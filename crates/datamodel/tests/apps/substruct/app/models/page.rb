class Page < ContentNode
end
