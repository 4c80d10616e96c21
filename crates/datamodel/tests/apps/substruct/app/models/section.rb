class Section < ApplicationRecord
  has_and_belongs_to_many :content_nodes
  belongs_to :parent, class_name: "Section"
  has_many :children, class_name: "Section", foreign_key: :parent_id, dependent: :destroy
end
