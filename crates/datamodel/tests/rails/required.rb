# Since load_defaults 5.0 a belongs_to is required; it may say otherwise, and so may the database.
# file: config/application.rb
module Shop
  class Application < Rails::Application
    config.load_defaults 7.1
  end
end
# file: app/models/models.rb
class Order < ApplicationRecord
  belongs_to :user
  belongs_to :coupon, optional: true
  belongs_to :shipper, required: false
  belongs_to :shop, optional: true
  belongs_to :maybe, class_name: "User", optional: -> { draft? }
end
class Legacy < ApplicationRecord
  self.belongs_to_required_by_default = false
  belongs_to :user
  belongs_to :shop, optional: false
  validates :shop, presence: true
end
class User < ApplicationRecord; end
class Coupon < ApplicationRecord; end
class Shipper < ApplicationRecord; end
class Shop < ApplicationRecord; end
# file: db/schema.rb
ActiveRecord::Schema[7.1].define(version: 2024_01_01) do
  create_table "orders", force: :cascade do |t|
    t.bigint "user_id"
    t.bigint "coupon_id"
    t.bigint "shipper_id"
    t.bigint "shop_id", null: false
    t.bigint "maybe_id"
  end
end
