class User < ApplicationRecord
  has_many :drafts, -> { where(kind: "draft") }, class_name: "Post", dependent: :destroy
  has_many :pages, -> { where(kind: "page") }, class_name: "Post", dependent: :destroy
end
