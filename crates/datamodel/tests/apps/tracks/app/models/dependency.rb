class Dependency < ApplicationRecord
  belongs_to :predecessor, class_name: "Todo"
  belongs_to :successor, class_name: "Todo"
end
