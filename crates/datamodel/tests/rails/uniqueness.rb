# What is validated as unique, and what an index enforces of it: of fewer columns, of a class above, whatever the case.
# file: config/application.rb
class Application < Rails::Application
  config.load_defaults 8.0
end
# file: app/models/models.rb
class User < ApplicationRecord
  validates :email, uniqueness: { case_sensitive: false }
  validates :nick, uniqueness: true
  validates :phone, uniqueness: { scope: :country }
end
class Admin < User
  validates :email, uniqueness: { scope: :phone }
end
class Membership < ApplicationRecord
  belongs_to :user
  belongs_to :group, polymorphic: true
  validates :user_id, uniqueness: { scope: [:group_id, :group_type] }
  validates :user, uniqueness: { scope: :group }, if: :active?
  validates :role, uniqueness: { scope: :group_id }
end
class Team < ApplicationRecord
  has_many :memberships, as: :group, dependent: :delete_all
end
# file: db/schema.rb
ActiveRecord::Schema[8.0].define(version: 1) do
  create_table "users" do |t|
    t.string "email"
    t.index "lower((email)::text)", name: "lower_email", unique: true
    t.index ["phone"], unique: true, where: "(phone IS NOT NULL)"
    t.index ["country"], unique: true, where: "(deleted_at IS NULL)"
    t.index "COALESCE(nick, email)", unique: true
  end
  create_table "memberships" do |t|
    t.bigint "user_id", null: false
    t.string "group_type", null: false
    t.bigint "group_id", null: false
    t.index ["user_id", "group_type", "group_id"], unique: true
  end
  add_foreign_key "memberships", "users"
end
