# Options of with_options reach bare calls if the block has no parameter, and calls on the parameter if it has one.
# file: app/models/account.rb
class Account < ApplicationRecord
  with_options dependent: :destroy do
    has_many :posts
    has_many :likes, dependent: :delete_all
    with_options class_name: "Post" do
      has_many :drafts
    end
  end
  with_options(dependent: :nullify) do |assoc|
    assoc.has_many :notes
    has_many :untouched, class_name: "Note"
    assoc.with_options class_name: "Note" do |inner|
      inner.has_many :memos
    end
  end
  has_many :outside, class_name: "Note"
  with_options presence: true do
    validates :owner
  end
  belongs_to :owner, class_name: "Account", optional: true
end
class Post < ApplicationRecord; belongs_to :account; end
class Like < ApplicationRecord; belongs_to :account; end
class Note < ApplicationRecord; belongs_to :account; end
