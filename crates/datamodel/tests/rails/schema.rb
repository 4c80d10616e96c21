# What the database knows: foreign keys, NOT NULL, unique and partial indexes, foreign keys nobody declared.
# file: app/models/models.rb
class User < ApplicationRecord
  has_many :posts, dependent: :destroy
  has_one :card
end
class Post < ApplicationRecord
  belongs_to :user
  belongs_to :editor, class_name: "User", optional: true
  belongs_to :wrong, class_name: "Card", foreign_key: "odd_id"
  validates :slug, uniqueness: { scope: :user_id }
  validates :title, uniqueness: { scope: [:user, :editor_id], conditions: -> { where(live: true) } }
  validates_uniqueness_of :code, if: :coded?
end
class Card < ApplicationRecord; belongs_to :user; validates :user, uniqueness: true; end
class Hidden < ApplicationRecord; end
# file: db/schema.rb
ActiveRecord::Schema.define(version: 1) do
  create_table "users" do |t|
    t.string "email", null: false
    t.index ["email"], name: "e", unique: true
    t.index "lower(email)", unique: true
  end
  create_table "posts" do |t|
    t.bigint "user_id", null: false
    t.references :editor, foreign_key: { to_table: :users, on_delete: :nullify }
    t.bigint "odd_id"
    t.string "slug"
    t.index ["slug", "user_id"], unique: true
    t.index ["user_id", "editor_id"], unique: true, where: "live"
    t.check_constraint "length(slug) > 2"
  end
  create_table "cards" do |t|
    t.belongs_to :user, index: { unique: true }
  end
  create_table "hiddens" do |t|
    t.bigint "user_id"
    t.bigint "lost_id"
  end
  add_foreign_key "posts", "users", on_delete: :cascade
  add_foreign_key "posts", "users", column: "odd_id"
  add_foreign_key "hiddens", "users", on_delete: :restrict
  add_foreign_key "hiddens", "losts"
end
